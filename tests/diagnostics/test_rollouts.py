"""What can be said without setting states: no verdict, and numbers beside their floor."""

import gymnasium as gym
import pytest

from nearsym.diagnostics.rollouts import audit_rollouts
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.symmetry import Symmetry


@pytest.fixture
def closed_world(linear_world):
    class Closed(linear_world):
        set_state = None

    return Closed


def test_a_symmetric_system_stays_at_the_floor(closed_world):
    found = audit_rollouts(closed_world(), samples=1000)
    assert found.as_json()["verdict"] is None
    assert found.missing == ["set_state"]
    assert "has no set_state" in found.reason
    for element in found.elements:
        assert element["eps_p"]["mean"] < 1.3 * element["floor_p"]["mean"]
        assert element["compared"] > 0.5


def test_a_broken_one_rises_above_it(closed_world):
    found = audit_rollouts(closed_world(drift=[0, 0.3, 0, 0]), samples=1000)
    errors = {element["name"]: element for element in found.elements}
    assert errors["mirror_x"]["eps_p"]["mean"] < 1.3 * errors["mirror_x"]["floor_p"]["mean"]
    assert errors["mirror_y"]["compared"] < 0.5 or (
        errors["mirror_y"]["eps_p"]["mean_ci95"][0] > errors["mirror_y"]["floor_p"]["mean"]
    )


def test_pictures_are_refused(closed_world):
    world = closed_world()
    world.observation_space = gym.spaces.Box(0, 255, (8, 8, 3), "uint8")
    world.symmetry = Symmetry(ImageAction(world.group, -3, -2), world.plane)
    with pytest.raises(UsageError, match="only vectors can be compared from rollouts"):
        audit_rollouts(world)
