"""A small environment with everything that an audit can use: Gymnasium's pendulum, mirrored."""

from typing import Any

import gymnasium as gym
import numpy as np

from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import diagonal
from nearsym.groups.symmetry import Symmetry
from nearsym.protocols import State

_D1 = dihedral(1)


class MirrorPendulum(gym.Wrapper):
    """Pendulum-v1 with the mirror angle → −angle, velocity → −velocity, torque → −torque.

    `wind` is a torque that is added to every action. At 0 the mirror is exact.

    >>> from nearsym.audits import audit
    >>> audit(MirrorPendulum(), samples=100).verdict
    'exact'
    >>> audit(MirrorPendulum(wind=0.2), samples=100).verdict
    'approximate'
    """

    symmetry = Symmetry(
        diagonal(_D1, {"mirror_x": [1, -1, -1]}, "cosine, sine, velocity"),
        diagonal(_D1, {"mirror_x": [-1]}, "torque"),
    )
    angles = ("angle",)
    observation_names = ("cosine", "sine", "velocity")

    def __init__(self, wind: float = 0.0):
        super().__init__(gym.make("Pendulum-v1", disable_env_checker=True))
        self.wind = wind

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self.env.step(action + np.float32(self.wind))

    def get_state(self) -> State:
        """Angle and velocity."""
        return {"state": np.array(self._pendulum.state)}

    def set_state(self, state: State) -> None:
        """Go on from there."""
        self._pendulum.state = np.array(state["state"])

    def transform(self, g: int, state: State) -> State:
        """g·s: the mirror changes both signs."""
        return {"state": -state["state"]} if g == 1 else state

    def coordinates(self, state: State) -> dict[str, float]:
        """Names for what the state holds."""
        angle, velocity = state["state"]
        return {"angle": float(angle), "velocity": float(velocity)}

    @property
    def _pendulum(self) -> Any:
        return self.env.unwrapped
