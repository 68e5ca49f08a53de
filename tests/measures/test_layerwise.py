"""Which layers are judged, and what a layer must say to be one of them."""

import pytest
import torch
from torch import nn

from nearsym.groups.action import Invariant
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.planar import so2
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.equivariant_linear import EquivariantLinear
from nearsym.layers.lift import LiftLinear, ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.nonlinearity import Gated, NormReLU, Pointwise
from nearsym.layers.norm import GroupImageNorm, GroupLayerNorm
from nearsym.layers.pool import InvariantPool, SpatialPool2d
from nearsym.layers.residual_path import ResidualPath, residual
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.equivariance import equivariance_error
from nearsym.measures.layerwise import layer_actions, layer_errors

D1, D4 = dihedral(1), dihedral(4)
RHO = D4.vector()

LAYERS = {
    "lifting": (LiftingConv2d(D4, 3, 2, 3, stride=2), (4, 3, 9, 9)),
    "group conv": (GroupConv2d(D4, 2, 3, 3), (4, 16, 7, 7)),
    "steerable": (SteerableConv2d(D4.regular(), RHO, 2, 3, 3), (4, 16, 7, 7)),
    "linear": (GroupLinear(D4, 2, 3), (4, 5, 8, 2)),
    "lift": (LiftLinear(RHO, 1, 3), (4, 2)),
    "lift channels": (LiftLinear(RHO, 5, 3), (4, 2, 5)),
    "project": (ProjectLinear(RHO, 3), (4, 8, 3)),
    "project channels": (ProjectLinear(RHO, 3, 2), (4, 8, 3)),
    "equivariant": (EquivariantLinear(RHO, D4.regular(), 1, 3), (4, 2)),
    "residual": (residual(GroupLinear(D4, 2, 3)), (4, 8, 2)),
    "layer norm": (GroupLayerNorm(D4, 3), (4, 8, 3)),
    "image norm": (GroupImageNorm(D4, 3), (4, 24, 5, 5)),
    "pool": (SpatialPool2d(D4, "max", 2), (4, 3, 6, 6)),
    "invariant": (InvariantPool(D4), (4, 8, 3)),
    "pointwise": (Pointwise(D4.regular()), (4, 16, 3)),
    "norm relu": (NormReLU(RHO, 3), (4, 6, 3, 3)),
    "gated": (Gated(RHO, 2), (4, 2 * Gated(RHO, 2).in_rep.size)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_says_how_the_group_moves_it(name):
    layer, shape = LAYERS[name]
    errors = equivariance_error(
        layer.double(), torch.randn(shape).double(), *layer_actions(layer), relative=True
    )
    bound = 1e-2 if name == "residual" else 1e-12
    assert max(errors.values()) < bound


def test_what_has_no_exact_motion_says_none():
    off_grid = cyclic(8).regular()
    for layer in (
        SteerableConv2d(so2().trivial(), so2().vector(), 1, 1, 3),
        SteerableConv2d(off_grid, off_grid, 1, 1, 3),
        Gated(so2().vector(), 2),
        ResidualPath(nn.Linear(2, 3), nn.Linear(2, 3)),
        nn.Linear(2, 3),
    ):
        assert layer_actions(layer) is None


class Doubling(nn.Module):
    """A layer of one's own: regular features in and out, until `broken`."""

    def __init__(self, group, broken=0.0):
        super().__init__()
        self.inner = GroupLinear(group, 3, 3)
        self.shift = torch.linspace(0, broken, group.order)[:, None]
        self.in_action = self.out_action = group.regular().along(-2)

    def forward(self, x):
        return self.inner(2 * x) + self.shift


@pytest.mark.parametrize("broken", [0.0, 1.0])
def test_a_layer_of_ones_own_is_judged_by_itself(broken):
    net = nn.Sequential(GroupLinear(D1, 2, 3), Doubling(D1, broken), nn.ReLU())
    errors = layer_errors({"actor": net}, lambda: net(torch.randn(6, 2, 2)), D1)
    assert list(errors) == ["actor.0", "actor.1"]  # not actor.1.inner, which is inside
    assert errors["actor.0"]["mirror_x"]["largest"] < 1e-5
    found = errors["actor.1"]["mirror_x"]["mean"]
    assert found > 0.05 if broken else found < 1e-5


class Product(nn.Module):
    """An invariant of two vectors."""

    in_action = (D1.sign(), D1.sign())
    out_action = Invariant(D1)

    def forward(self, x, y):
        return x * y


def test_a_layer_of_two_inputs_has_two_actions():
    layer = Product()
    errors = layer_errors({"critic": layer}, lambda: layer(*torch.randn(2, 6, 1)), D1)
    assert errors["critic"]["mirror_x"]["largest"] == 0.0


def test_layers_of_another_group_and_layers_not_used_are_left_out():
    used, unused = GroupLinear(D1, 2, 3), GroupLinear(D1, 2, 3)
    net = nn.ModuleList([used, unused, GroupLinear(D4, 2, 3)])
    errors = layer_errors({"encoder": net}, lambda: used(torch.randn(6, 2, 2)), D1)
    assert list(errors) == ["encoder.0"]


def test_a_failure_leaves_no_hooks_behind():
    layer = GroupLinear(D1, 2, 3)

    def fail():
        raise RuntimeError("no batch")

    with pytest.raises(RuntimeError, match="no batch"):
        layer_errors({"actor": layer}, fail, D1)
    assert not layer._forward_pre_hooks
