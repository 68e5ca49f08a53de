"""Symmetries go through JSON and back; what describes none is refused."""

import copy
import json

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Invariant, Together
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.group import FiniteGroup
from nearsym.groups.saved import from_plain, to_plain
from nearsym.groups.symmetry import Symmetry

MIRROR = dihedral(1)
D2, C3, C4 = dihedral(2), cyclic(3), cyclic(4)
UNPLACED = product(MIRROR, cyclic(2))  # it carries no plane action
SYMMETRIES = {
    "mirror": Symmetry(2 * MIRROR.sign() + MIRROR.trivial(), MIRROR.sign()),
    "trivial": Symmetry(3 * trivial().trivial(), trivial().trivial()),
    "images": Symmetry(ImageAction(D2, -3, -2), D2.vector()),
    "channels first": Symmetry(ImageAction(C4), C4.vector()),
    "invariant": Symmetry(Invariant(D2), 2 * D2.sign()),
    "third turns": Symmetry(C3.vector(), C3.vector(), bounded=False),
    "no plane": Symmetry(UNPLACED.regular(), UNPLACED.trivial()),
    "own names": Symmetry(
        FiniteGroup("swap", ["e", "s"], [[0, 1], [1, 0]]).regular(),
        FiniteGroup("swap", ["e", "s"], [[0, 1], [1, 0]]).diagonal({"s": [-1, 1]}, "wheels"),
    ),
}


@pytest.mark.parametrize("name", SYMMETRIES)
def test_round_trip(name):
    symmetry = SYMMETRIES[name]
    text = json.dumps(to_plain(symmetry))
    again = from_plain(json.loads(text))
    assert again == symmetry
    assert hash(again) == hash(symmetry)
    assert repr(again) == repr(symmetry)
    assert again.bounded == symmetry.bounded
    assert json.dumps(to_plain(again)) == text


@pytest.mark.parametrize("name", SYMMETRIES)
def test_it_moves_everything_as_before(name):
    symmetry = SYMMETRIES[name]
    again = from_plain(json.loads(json.dumps(to_plain(symmetry))))
    rng = np.random.default_rng(0)
    size = getattr(symmetry.observation, "size", None)
    obs = rng.normal(size=(5, 5, 2) if size is None else size)
    action = rng.normal(size=symmetry.action.size)
    for g in range(symmetry.group.order):
        for one, other, x in (
            (symmetry.observation, again.observation, obs),
            (symmetry.action, again.action, action),
        ):
            assert np.array_equal(one.act(g, x), other.act(g, x))


def test_others_are_others():
    plain = [to_plain(symmetry) for symmetry in SYMMETRIES.values()]
    for i, one in enumerate(plain):
        for j, other in enumerate(plain):
            assert (from_plain(one) == from_plain(other)) == (i == j)
    assert ImageAction(D2, -3, -2) != ImageAction(D2)
    assert Invariant(D2) != Invariant(C4)
    assert Invariant(D2) != D2.trivial()


@pytest.mark.parametrize(
    "observation",
    [MIRROR.sign().along(-1), Together(ImageAction(MIRROR), MIRROR.sign().along(-3))],
    ids=["along an axis", "together"],
)
def test_what_cannot_be_saved_says_what_can(observation):
    text = (
        "moves observations by a Representation, an ImageAction or not at all, not by .*attribute"
    )
    with pytest.raises(UsageError, match=text):
        to_plain(Symmetry(observation, MIRROR.sign()))


def changed(path, value):
    plain = copy.deepcopy(to_plain(SYMMETRIES["mirror"]))
    *parents, last = path.split(".")
    inner = plain
    for name in parents:
        inner = inner[name]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return plain


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("group", None, "'group'"),
        ("group", "D1", "no saved symmetry"),
        ("group.mul", None, "'mul'"),
        ("group.mul", [[0, 1], [1, 1]], "appears twice in a row or column of the product table"),
        ("group.mul", [[0, 1]], "the product table of 2 elements must be 2×2"),
        ("group.mul", [["e", "m"], ["m", "e"]], "no saved symmetry"),
        ("group.elements", ["e", "e"], "elements need distinct names"),
        ("group.plane", [[[1, 0], [0, 1]]], "`plane` needs one 2×2 matrix for each of 2"),
        ("group.colour", "red", "'colour'"),
        ("action", None, "'action'"),
        ("action.kind", None, "'kind'"),
        ("action.kind", "matrix", "Unknown kind of action 'matrix'. Did you mean 'matrices'"),
        ("action.kind", "invariant", "its action must be matrices"),
        ("action.matrices", [[[1.0]], [[2.0]]], "is no representation of D1"),
        ("action.matrices", [[[1.0]]], "needs 2 square matrices of one size, got 1"),
        ("action.matrices", [], "no saved symmetry"),
        ("action.matrices", [[["x"]], [["y"]]], "no saved symmetry"),
        ("action.matrices", [[[float("nan")]], [[1.0]]], "entries that are not finite"),
        ("observation", {"kind": "pixels", "height": "x", "width": -1}, "no saved symmetry"),
        ("observation", {"kind": "pixels", "height": -2}, "'width'"),
        ("bounded", None, "'bounded'"),
        ("bounded", "false", "`bounded` true or false"),
        ("bounded", 0, "`bounded` true or false"),
    ],
)
def test_what_is_no_symmetry_is_refused(path, value, text):
    with pytest.raises(UsageError, match=text) as error:
        from_plain(changed(path, value))
    assert str(error.value).startswith("This is no saved symmetry: ")


@pytest.mark.parametrize("nonsense", [None, 3, "D1", [], {}])
def test_something_else_than_an_object(nonsense):
    with pytest.raises(UsageError, match="This is no saved symmetry"):
        from_plain(nonsense)


def test_actions_that_leave_their_box_are_refused_as_ever():
    plain = to_plain(SYMMETRIES["third turns"]) | {"bounded": True}
    with pytest.raises(UsageError, match="would leave the box"):
        from_plain(plain)
