"""Other people's tools.

| name | what it is for |
|---|---|
| `export_policy` | a trained policy as one ONNX file |
| `SymmetricPolicy` | SAC of Stable-Baselines3 |
| `SymmetricTD3Policy` | its TD3 and DDPG |
| `SymmetricActorCriticPolicy` | its PPO and A2C |
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.integrations.onnx import export_policy as export_policy
    from nearsym.integrations.sb3 import SymmetricActorCriticPolicy as SymmetricActorCriticPolicy
    from nearsym.integrations.sb3 import SymmetricPolicy as SymmetricPolicy
    from nearsym.integrations.sb3 import SymmetricTD3Policy as SymmetricTD3Policy

_named, __dir__, __all__ = attach(
    __name__,
    {
        "SymmetricActorCriticPolicy": ".sb3",
        "SymmetricPolicy": ".sb3",
        "SymmetricTD3Policy": ".sb3",
        "export_policy": ".onnx",
    },
)


def __getattr__(name: str) -> Any:
    return import_module(".sb3", __name__) if name == "sb3" else _named(name)
