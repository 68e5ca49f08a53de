"""What training does to relaxed weights: they follow the symmetry of the target, no more."""

import pytest
import torch
from torch import nn

from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.lift import ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.regular import regular_features
from nearsym.layers.relaxation import relaxed_weights


class Network(nn.Module):
    """Every kind of group layer in a row, from images to one invariant number."""

    def __init__(self, group, relax):
        super().__init__()
        options = {"relaxed": True, "filters": 2}
        self.group = group
        self.lift = LiftingConv2d(group, 1, 3, 3, **options)
        self.conv = GroupConv2d(group, 3, 3, 3, relax=relax, **options)
        self.linear = GroupLinear(group, 27, 4, relax=relax, **options)
        self.project = ProjectLinear(group.trivial(), 4, **options)

    def forward(self, x):
        x = self.conv(self.lift(x).tanh()).tanh()
        return self.project(self.linear(regular_features(x, self.group)).tanh())


def orbit_averaged(weights, x, elements, act):
    """Σ over k in K of f(kx): a target with exactly the symmetry K."""
    return sum((act.act(k, x) * weights).sum((1, 2, 3)).sin() for k in elements)[:, None]


def trained(group, kept, relax):
    """The relaxed weights after 20 steps on batches that contain each image with its orbit."""
    act = ImageAction(group)
    net = Network(group, relax).double()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    weights = torch.randn(1, 7, 7).double()
    for _ in range(20):
        images = torch.randn(4, 1, 7, 7).double()
        batch = torch.cat([act.act(g, images) for g in range(group.order)])
        loss = (net(batch) - orbit_averaged(weights, batch, kept, act)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return relaxed_weights(net)


@pytest.mark.parametrize("relax", ["input", "output"])
@pytest.mark.parametrize("group", [dihedral(2), dihedral(4)], ids=repr)
def test_a_symmetric_target_keeps_the_weights_equal(group, relax):
    for w in trained(group, range(group.order), relax).values():
        assert (w - w[:, :1]).abs().max() < 1e-10
        assert (w - 2**-0.5).abs().max() > 1e-3  # they were trained


@pytest.mark.parametrize("relax", ["input", "output"])
@pytest.mark.parametrize(
    ("group", "generator"),
    [(dihedral(2), "mirror_x"), (dihedral(4), "mirror_x"), (dihedral(4), "rot90")],
    ids=str,
)
def test_a_target_with_a_subgroup_keeps_them_constant_on_its_cosets(group, generator, relax):
    kept = group.subgroup([group.index(generator)])
    cosets = group.right_cosets(kept)
    for w in trained(group, kept, relax).values():
        for coset in cosets:
            inside = w[:, list(coset)]
            assert (inside - inside[:, :1]).abs().max() < 1e-10
        between = torch.stack([w[:, coset[0]] for coset in cosets], -1)
        assert (between - between.mean(-1, keepdim=True)).abs().max() > 1e-4


def test_regular_representation_moves_the_relaxed_weights():
    # Relaxing by k·w is the same as moving input and output by k: the action of the paper.
    group = dihedral(4)
    layer = GroupLinear(group, 2, 3, relaxed=True, bias=False).double()
    nn.init.normal_(layer.relaxed)
    moved = GroupLinear(group, 2, 3, relaxed=True, bias=False).double()
    moved.load_state_dict(layer.state_dict())
    act = group.regular().along(-2)
    x = torch.randn(3, 8, 2).double()
    for k in range(8):
        with torch.no_grad():
            moved.relaxed.copy_(group.regular().act(k, layer.relaxed))
        assert torch.allclose(moved(act.act(k, x)), act.act(k, layer(x)), atol=1e-12)
