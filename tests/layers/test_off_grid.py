"""How well steerable layers follow turns that fit no grid, in the figures that the docs print."""

import math
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.planar import o2, so2
from nearsym.layers.kernel_basis import kernel_basis
from nearsym.layers.rings import Rings, offsets
from nearsym.layers.smooth_parts import smooth_parts
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.turning import turning_error

ANGLES = (17.0, 45.0, 70.0)
SAMPLED = Rings(smoothness=None)
PAGE = (Path(__file__).parents[2] / "docs" / "steerable.md").read_text("utf-8")


def irreps(group):
    return [group.irrep(n) for n in range(4)] + ([group.sign()] if group.mirrors else [])


def pairs(group, size, rings):
    """The pairs of irreps 0 to 3 between which there are kernels."""
    for in_rep in irreps(group):
        for out_rep in irreps(group):
            try:
                kernel_basis(in_rep, out_rep, size, rings)
            except UsageError:
                continue
            yield in_rep, out_rep


@cache
def drawn(group, size, rings, smoothness=2.0):
    """The errors of layers with drawn weights."""
    torch.manual_seed(0)
    return np.array(
        [
            turning_error(layer, degrees, smoothness=smoothness)
            for in_rep, out_rep in pairs(group, size, rings)
            for layer in [SteerableConv2d(in_rep, out_rep, 8, 8, size, rings=rings).double()]
            for degrees in ANGLES
        ]
    )


@cache
def alone_and_worst(group, size, rings):
    """The errors of every single kernel, and the largest that any weights can give a layer."""
    alone, worst = [], []
    frequencies, parts = smooth_parts(offsets(size), 2.0)
    for in_rep, out_rep in pairs(group, size, rings):
        values = kernel_basis(in_rep, out_rep, size, rings).values
        answers = np.einsum("koip,np->koin", values, parts)
        for angle in map(math.radians, ANGLES):
            turned = np.einsum("koin,ij->kojn", answers, in_rep.matrix(angle))
            gap = turned * np.exp(-1j * frequencies * angle)
            gap -= np.einsum("oj,kjin->koin", out_rep.matrix(angle), answers)
            columns = [real_columns(a) for a in (gap, answers)]
            alone += list(np.divide(*(np.linalg.norm(c, axis=0) for c in columns)))
            r = np.linalg.qr(columns[1])[1]
            worst.append(np.linalg.norm(np.linalg.solve(r.T, columns[0].T), 2))
    return np.array(alone), max(worst)


def real_columns(answers):
    flat = answers.reshape(len(answers), -1)
    return np.concatenate([flat.real, flat.imag], axis=1).T


@pytest.mark.parametrize("group", [so2(), o2()], ids=str)
@pytest.mark.parametrize("size", [3, 5, 7])
def test_layers_follow_turns(group, size):
    errors = drawn(group, size, Rings())
    assert np.median(errors) < 0.002
    assert errors.max() < {3: 0.04, 5: 0.004, 7: 0.001}[size]


@pytest.mark.parametrize("group", [so2(), o2()], ids=str)
@pytest.mark.parametrize("size", [3, 5, 7])
def test_every_kernel_follows_turns_and_so_do_all_sums(group, size):
    alone, worst = alone_and_worst(group, size, Rings())
    assert np.median(alone) < 0.001
    assert alone.max() < 0.04
    assert worst < 0.06


@pytest.mark.parametrize(
    ("size", "median", "largest"), [(3, 0.010, 0.103), (5, 0.031, 0.656), (7, 0.024, 0.197)]
)
def test_sampled_rings_do_not(size, median, largest):
    errors = drawn(so2(), size, SAMPLED)
    assert np.median(errors) == pytest.approx(median, rel=0.1)
    assert errors.max() == pytest.approx(largest, rel=0.1)


@pytest.mark.parametrize(
    ("group", "size", "largest"),
    [
        (cyclic(8), 3, 0.004),
        (cyclic(8), 5, 0.0005),
        (cyclic(8), 7, 0.0002),
        (dihedral(8), 3, 0.004),
        (dihedral(8), 5, 0.0005),
    ],
)
def test_regular_features_follow_eighths(group, size, largest):
    many = group.regular()
    for in_rep, out_rep in [(group.trivial(), many), (many, many), (many, group.vector())]:
        layer = SteerableConv2d(in_rep, out_rep, 2, 2, size).double()
        assert turning_error(layer, 45.0) < largest
        assert turning_error(layer, 90.0) < 1e-14


@pytest.mark.parametrize("smoothness", [1.0, 4.0])
def test_better_than_sampled_rings_on_rougher_and_on_smoother_images(smoothness):
    corrected, sampled = (drawn(so2(), 5, rings, smoothness) for rings in (Rings(), SAMPLED))
    assert np.median(corrected) < np.median(sampled) / 2
    assert corrected.max() < sampled.max() / 2


@pytest.mark.parametrize("smoothness", [1.0, 4.0])
def test_best_with_the_smoothness_of_the_images(smoothness):
    default, suited = (
        drawn(so2(), 5, rings, smoothness) for rings in (Rings(), Rings(smoothness=smoothness))
    )
    assert np.median(suited) < np.median(default)
    assert suited.max() < default.max()


@pytest.mark.parametrize("size", [3, 5, 7])
@pytest.mark.parametrize("rings", [Rings(), SAMPLED], ids=["default", "sampled"])
def test_the_page_prints_these_figures(size, rings):
    kind = "sampled" if rings == SAMPLED else "default"
    (row,) = re.findall(rf"^\| {size}×{size} \| {kind} \| (.+) \|$", PAGE, re.MULTILINE)
    layers, (alone, worst) = drawn(so2(), size, rings), alone_and_worst(so2(), size, rings)
    expected = [np.median(layers), layers.max(), alone.max(), worst]
    assert [float(cell) for cell in row.split(" | ")] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("smoothness", [1.0, 2.0, 4.0])
def test_the_page_prints_the_figures_of_other_images(smoothness):
    header, _, *rows = re.search(r"^\| blur .*(\n\|.*)+", PAGE, re.MULTILINE)[0].splitlines()
    column = header.strip("| ").split(" | ").index(f"{smoothness:g}")
    for rings, row in zip((Rings(), Rings(smoothness=smoothness), SAMPLED), rows, strict=True):
        printed = [float(number) for number in row.strip("| ").split(" | ")[column].split(", ")]
        errors = drawn(so2(), 5, rings, smoothness)
        assert printed == pytest.approx([np.median(errors), errors.max()], rel=0.25)


def test_weights_of_sampled_rings_are_refused_in_one_sentence(tmp_path):
    """Earlier versions had no other; torch marked their layers with version 1."""
    old = SteerableConv2d(so2().trivial(), so2().irrep(1), 2, 2, 5, rings=SAMPLED)
    net = torch.nn.Sequential(old)
    state = net.state_dict()
    state._metadata["0"]["version"] = 1
    torch.save(state, tmp_path / "old.pt")
    loaded = torch.load(tmp_path / "old.pt", weights_only=True)
    net.load_state_dict(loaded)
    net = torch.nn.Sequential(SteerableConv2d(so2().trivial(), so2().irrep(1), 2, 2, 5))
    with pytest.raises(UsageError) as refused:
        net.load_state_dict(loaded)
    assert str(refused.value) == (
        "The weights 0.filters belong to rings as they are sampled, which earlier versions had: "
        "build the layer with `rings=Rings(smoothness=None)` to load them."
    )


@pytest.mark.parametrize(
    ("in_rep", "out_rep", "size"),
    [
        (cyclic(4).regular(), cyclic(4).regular(), 5),
        (dihedral(2).trivial(), dihedral(2).regular(), 3),
        (so2().irrep(1), so2().irrep(1), 2),
    ],
)
def test_weights_of_kernels_that_did_not_change_are_not_refused(in_rep, out_rep, size):
    layer = SteerableConv2d(in_rep, out_rep, 2, 2, size)
    sampled = SteerableConv2d(in_rep, out_rep, 2, 2, size, rings=SAMPLED)
    np.testing.assert_allclose(layer.basis.values, sampled.basis.values, atol=1e-14)
    state = sampled.state_dict()
    state._metadata[""]["version"] = 1
    layer.load_state_dict(state)
    layer.load_state_dict(dict(state))  # a plain dictionary says nothing of versions


@pytest.mark.parametrize("smoothness", [0.0, 0.5, 5, -1.0, float("nan"), "2"])
def test_errors_of_smoothness(smoothness):
    text = (
        "`smoothness` must lie between 1 and 4 pixels, or be None for rings as they are sampled, "
        f"got {smoothness!r}"
    )
    with pytest.raises(UsageError, match=re.escape(text)):
        Rings(smoothness=smoothness)


def test_error_of_rings():
    with pytest.raises(UsageError, match=r"`rings` must be Rings such as .*, got 2.0"):
        SteerableConv2d(so2().trivial(), so2().trivial(), 1, 1, 3, rings=2.0)
