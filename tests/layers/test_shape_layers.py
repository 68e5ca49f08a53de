"""Pooling, norms, exact sizes and the re-indexing to regular features."""

import pytest
import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Invariant, Together
from nearsym.groups.catalog import cyclic, dihedral, trivial
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.norm import GroupImageNorm, GroupLayerNorm
from nearsym.layers.pool import InvariantPool, SpatialPool2d
from nearsym.layers.regular import regular_features
from nearsym.layers.sizes import EquivarianceWarning, check_exact, exact_sizes
from nearsym.measures.equivariance import equivariance_error

GROUPS = [cyclic(4), dihedral(1), dihedral(2), dihedral(4)]


def paper_encoder(group):
    def block():
        return GroupConv2d(group, 2, 2, 3)

    pool = SpatialPool2d(group, "max", 2)
    lift = LiftingConv2d(group, 3, 2, 3, stride=2)
    return nn.Sequential(lift, block(), pool, block(), SpatialPool2d(group, "max", 2), block())


def on_features(group):
    return Together(ImageAction(group), group.regular().along(-3))


def test_the_papers_encoder_needs_five_modulo_eight():
    sizes = exact_sizes(paper_encoder(dihedral(1)), range(40, 100))
    assert sizes == [45, 53, 61, 69, 77, 85, 93]
    assert sizes[1:6] == [53, 61, 69, 77, 85]


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_at_exact_sizes_the_whole_encoder_is_exact(group):
    net = paper_encoder(group).double()
    x = torch.randn(2, 3, 53, 53).double()
    errors = equivariance_error(net, x, ImageAction(group), on_features(group), relative=True)
    assert max(errors.values()) < 1e-12


@pytest.mark.filterwarnings("ignore::nearsym.layers.sizes.EquivarianceWarning")
def test_at_other_sizes_it_is_not():
    group = dihedral(1)
    net = paper_encoder(group).double()
    x = torch.randn(2, 3, 54, 54).double()
    errors = equivariance_error(net, x, ImageAction(group), on_features(group), relative=True)
    assert min(errors.values()) > 1e-2


def test_sizes_that_do_not_fit_are_refused_with_the_nearest():
    check_exact(paper_encoder(dihedral(1)), 85)
    with pytest.raises(UsageError, match=r"At 84 pixels .* not exact\. Use 77 or 85\."):
        check_exact(paper_encoder(dihedral(1)), 84)


def test_plain_layers_with_pairs_of_numbers_are_understood():
    layers = nn.Sequential(nn.Conv2d(1, 1, 3, stride=2, padding=1), nn.AvgPool2d(2))
    assert exact_sizes(layers, range(1, 12)) == [3, 7, 11]


@pytest.mark.parametrize("kind", ["max", "mean"])
def test_pooling_over_positions(kind):
    group = dihedral(4)
    pool = SpatialPool2d(group, kind, 3, 2)
    act = on_features(group)
    errors = equivariance_error(pool, torch.randn(2, 16, 7, 7), act, act)
    assert max(errors.values()) < 1e-6


def test_pooling_that_does_not_fit_warns_once():
    pool = SpatialPool2d(dihedral(1), "max", 5, 3)
    with pytest.warns(EquivarianceWarning, match=r"SpatialPool2d with kernel 5, stride 3"):
        pool(torch.zeros(1, 2, 10, 10))
    pool(torch.zeros(1, 2, 10, 10))  # silent: warnings are errors here


@pytest.mark.parametrize("kind", ["max", "mean"])
def test_pooling_over_the_group_is_invariant(kind):
    group = dihedral(4)
    pool = InvariantPool(group, kind)
    x = torch.randn(5, 8, 3)
    errors = equivariance_error(pool, x, group.regular().along(-2), Invariant(group))
    assert max(errors.values()) < 1e-6
    expected = x.max(1).values if kind == "max" else x.mean(1)
    assert torch.equal(pool(x), expected)
    with pytest.raises(UsageError, match=r"expects \(\.\.\., 8, channels\) for D4, got shape \(3"):
        pool(torch.zeros(3, 4))


def test_unknown_kinds_of_pooling():
    with pytest.raises(UsageError, match=r"Unknown kind of pooling 'maxx'\. Did you mean 'max'\?"):
        SpatialPool2d(dihedral(1), "maxx", 2)
    with pytest.raises(UsageError, match=r"Unknown kind of pooling 'sum'"):
        InvariantPool(dihedral(1), "sum")


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_norms_are_equivariant_with_any_affine_part(group, dtype, tolerance):
    vector, image = GroupLayerNorm(group, 3).to(dtype), GroupImageNorm(group, 3).to(dtype)
    for norm in (vector, image):
        nn.init.normal_(norm.weight)
        nn.init.normal_(norm.bias)
    x = torch.randn(4, group.order, 3, dtype=dtype)
    act = group.regular().along(-2)
    errors = equivariance_error(vector, x, act, act, relative=True)
    assert max(errors.values()) < tolerance
    x = torch.randn(4, 3 * group.order, 5, 5, dtype=dtype)
    errors = equivariance_error(image, x, *[on_features(group)] * 2, relative=True)
    assert max(errors.values()) < tolerance


def test_over_the_trivial_group_norms_are_torchs():
    x = torch.randn(4, 6)
    assert torch.allclose(GroupLayerNorm(trivial(), 6)(x[:, None])[:, 0], nn.LayerNorm(6)(x))
    x = torch.randn(4, 6, 3, 3)
    assert torch.allclose(GroupImageNorm(trivial(), 6)(x), nn.GroupNorm(1, 6)(x))


def test_norms_explain_wrong_shapes():
    with pytest.raises(UsageError, match=r"GroupLayerNorm expects \(\.\.\., 2, 3\), got shape \(4"):
        GroupLayerNorm(dihedral(1), 3)(torch.zeros(4, 3, 2))
    with pytest.raises(UsageError, match=r"GroupImageNorm expects \(batch, 6, height, width\)"):
        GroupImageNorm(dihedral(1), 3)(torch.zeros(4, 3, 2, 2))


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_regular_features_move_along_the_group_axis_only(group):
    x = torch.randn(3, 2 * group.order, 4, 4)
    errors = equivariance_error(
        lambda x: regular_features(x, group), x, on_features(group), group.regular().along(1)
    )
    assert max(errors.values()) == 0.0  # a re-indexing rounds nothing
    y = regular_features(x, group)
    assert torch.equal(y.flatten().sort().values, x.flatten().sort().values)


def test_regular_features_explain_wrong_shapes():
    with pytest.raises(UsageError, match=r"\(batch, 4·channels, height, width\) for D2, got .*\(1"):
        regular_features(torch.zeros(1, 6, 3, 3), dihedral(2))
    with pytest.raises(UsageError, match=r"C4 turns images by quarters.*got 3×4 pixels"):
        regular_features(torch.zeros(1, 8, 3, 4), cyclic(4))
    assert regular_features(torch.zeros(1, 8, 3, 4), dihedral(2)).shape == (1, 4, 24)
