"""`torch.compile` for training."""

import torch

from nearsym.agents.base import Agent
from nearsym.errors import UsageError


def compile_encoder(agent: Agent) -> None:
    """Compile the encoder of an agent, in place; its weights and their names stay as they are.

    The heads are left alone: their products are so small that looking up compiled code takes
    longer than calling them, and an update on vectors becomes twice as slow.
    """
    try:
        torch.compile(_plus_one)(torch.zeros(2))
    except Exception as error:  # whatever a compiler that does not work raises
        reason = str(error).strip().splitlines()[0]
        raise UsageError(
            f"`compile` needs a C++ compiler that torch can call ({reason}). Install one, or leave "
            "`compile` away."
        ) from error
    # One program for each shape: which shapes came before must not decide how one is computed.
    agent.networks.encoder.compile(dynamic=False)


def _plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1
