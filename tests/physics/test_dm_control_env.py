"""dm_control's environments need nothing written either."""

import numpy as np
import pytest

import nearsym
from nearsym.groups.catalog import dihedral
from nearsym.groups.symmetry import Symmetry
from nearsym.physics.anywhere import with_states
from nearsym.physics.dm_control_env import DmControlEnv
from nearsym.tasks.control import opengl


@pytest.fixture
def cartpole():
    opengl.prepare()
    suite = pytest.importorskip("dm_control.suite")
    return DmControlEnv(suite.load("cartpole", "balance", task_kwargs={"random": 0}))


def test_states_are_restored(cartpole):
    env = with_states(cartpole)
    env.reset(seed=0)
    env.step([0.5])
    here = env.get_state()
    once = [env.step([a])[:2] for a in (0.3, -1.0)]
    env.set_state(here)
    twice = [env.step([a])[:2] for a in (0.3, -1.0)]
    assert all(
        np.array_equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(once, twice, strict=True)
    )


@pytest.mark.longer
def test_a_symmetry_is_all_there_is_to_declare(cartpole):
    mirror = dihedral(1)
    for sign, verdict in ((-1, "exact"), (1, "wrong")):
        symmetry = Symmetry(
            mirror.diagonal({"mirror_x": [-1, 1, -1, -1, -1]}),
            mirror.diagonal({"mirror_x": [sign]}),
        )
        found = nearsym.audit(cartpole, symmetry=symmetry, samples=100)
        assert found.verdict == verdict
