"""The craft is declared rightly and broken, declared wrongly, or both: the audit's word on each."""

import numpy as np
import pytest

import nearsym
from nearsym.audits.environment import audit_environment
from nearsym.groups.declared import Declared
from nearsym.groups.representation import from_matrices
from nearsym.groups.symmetry import Symmetry

ROTATIONS = ["e", "rot90", "rot180", "rot270"]
MIRRORS = ["mirror_x", "mirror135", "mirror_y", "mirror45"]
BOTH = {("action", 0), ("action", 1)}


def audited(variant, samples=300, seed=0):
    return audit_environment(nearsym.make("craft", variant=variant), samples=samples, seed=seed)


def entries(found):
    return {(mistake.part, mistake.index) for mistake in found.mistakes}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tilt", [0, 180])
def test_whole_turns_are_exact(tilt, seed):
    found = audited(f"tilt={tilt}", seed=seed)
    assert found.verdict == "exact"
    assert found.stabilizer == ROTATIONS + MIRRORS


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tilt", [15, 30, 60, 75])
def test_askew_thrusters_keep_the_rotations(tilt, seed):
    found = audited(f"tilt={tilt}", seed=seed)
    assert found.verdict == "partial"
    assert found.stabilizer == ROTATIONS
    assert not found.mistakes
    assert found.reason.startswith("Only the subgroup {e, rot90, rot180, rot270} holds")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("tilt", "mirror_x", "mirror_y"),
    [(45, "[+a1, +a0]", "[−a1, −a0]"), (90, "[+a0, −a1]", "[−a0, +a1]")],
)
def test_where_another_declaration_fits_it_is_named(tilt, mirror_x, mirror_y, seed):
    found = audited(f"tilt={tilt}", seed=seed)
    assert found.verdict == "wrong"
    assert entries(found) == BOTH
    for mistake in found.mistakes:
        assert list(mistake.elements) == MIRRORS
        should = dict(zip(mistake.elements, mistake.should, strict=True))
        assert (should["mirror_x"], should["mirror_y"]) == (mirror_x, mirror_y)
    assert f"The action a should become {mirror_x} under mirror_x" in found.reason
    assert found.as_json()["declaration"]["wrong"][0]["should"][0] == mirror_x


def test_the_declaration_that_is_named_is_exact():
    """At 90° the mirrors with the opposite sign; what is left is rounding of cos 90°."""
    env = nearsym.make("craft", variant="tilt=90")
    signs = np.array([-1.0 if name in MIRRORS else 1.0 for name in env.symmetry.group.elements])
    found = audit_environment(redeclared(env, signs[:, None, None] * env.symmetry.action.matrices))
    assert found.verdict == "exact"


def redeclared(env, matrices):
    symmetry = env.unwrapped.symmetry
    action = from_matrices(symmetry.group, matrices, "other")
    return Declared(env, Symmetry(symmetry.observation, action))


@pytest.mark.parametrize(
    ("variant", "elements"),
    [
        (None, {"rot90", "rot270", "mirror135", "mirror45"}),
        ("worn=0.2", {"rot90", "rot270", "mirror135", "mirror45"}),
        ("wind=0.2", {"rot90", "rot270", "mirror135", "mirror45"}),
        ("tilt=30", {"rot90", "rot270"}),  # no declaration of the mirrors is right
    ],
)
def test_an_entry_with_the_opposite_sign_is_wrong_and_named(variant, elements):
    """−a0 for a0 turns the rotations round and exchanges the diagonal mirrors."""
    env = nearsym.make("craft", variant=variant)
    turned = np.diag([-1.0, 1.0])
    found = audit_environment(
        redeclared(env, turned @ env.unwrapped.symmetry.action.matrices @ turned), samples=300
    )
    assert found.verdict == "wrong"
    assert entries(found) == BOTH
    assert {name for mistake in found.mistakes for name in mistake.elements} == elements
    assert "[−a1, +a0] under rot90" in found.reason


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("variant", "stabilizer"),
    [("wind", ["e", "mirror_y"]), ("worn", ["e", "rot180", "mirror_x", "mirror_y"])],
)
def test_wind_and_wear(variant, stabilizer, seed):
    found = audited(variant, seed=seed)
    assert found.verdict == "partial"
    assert found.stabilizer == stabilizer


def test_a_slight_tilt_is_approximate():
    found = audited("tilt=5")
    assert found.verdict == "approximate"
    assert found.stabilizer == ROTATIONS + MIRRORS


def test_epsilon_is_taken_at_its_word():
    env = nearsym.make("craft", variant="tilt=15")
    found = audit_environment(env, samples=300, epsilon=0.6)
    assert (found.verdict, found.epsilon) == ("approximate", 0.6)
    assert audited("tilt=15").epsilon == 0.25
