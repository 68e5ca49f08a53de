"""What an agent does, in the units of its environment's author."""

import gymnasium
import numpy as np

from nearsym.agents.base import Agent
from nearsym.audits.policies import from_unit
from nearsym.errors import UsageError
from nearsym.tasks.adapted import own_spaces


def own_action(
    agent: Agent, env: gymnasium.Env, obs: np.ndarray, *, sample: bool = False
) -> np.ndarray:
    """The action for an observation, or for each of a batch, both in the units of the environment's
    author. Agents themselves read float32 or bytes and act in [−1, 1]ⁿ."""
    own_obs, own_actions = own_spaces(env)
    if obs.dtype.kind not in "biuf" or not np.isfinite(obs).all():
        raise UsageError("The policy reads observations of finite real numbers.")
    single = obs.shape == own_obs.shape
    batch = (obs[None] if single else obs).astype(env.observation_space.dtype, copy=False)
    if batch.dtype.kind in "ui" and not np.array_equal(batch, obs[None] if single else obs):
        raise UsageError(
            f"The policy reads observations of {batch.dtype}, and these have other numbers: "
            f"{obs.dtype} from {obs.min():g} to {obs.max():g}. Images go from 0 to 255."
        )
    if batch.shape[1:] != own_obs.shape:
        raise UsageError(
            f"The policy reads observations of the shape {own_obs.shape}, or a batch of them, "
            f"got {obs.shape}."
        )
    actions = from_unit(own_actions, agent.policy(batch, sample=sample))
    return actions[0] if single else actions
