"""What relaxed steerable weights learn from batches that are closed under a group."""

import pytest
import torch

from nearsym.groups.action import ImageAction, Together
from nearsym.groups.catalog import dihedral
from nearsym.groups.planar import o2
from nearsym.layers.relaxation import relaxed_weights, spread_penalty
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.equivariance import equivariance_error


def on_maps(rep):
    return Together(ImageAction(rep.group), rep.along(1))


def trained(student, teacher, x, steps=30):
    """The student after some steps of Adam towards the teacher on one batch."""
    optimizer = torch.optim.Adam(student.parameters(), lr=0.02)
    target = teacher(x).detach()
    for _ in range(steps):
        loss = (student(x) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return student


def closed_batch(rep, elements, size=7, channels=2):
    x = torch.randn(6, channels * rep.size, size, size, dtype=torch.float64)
    return torch.cat([on_maps(rep).act(g, x) for g in elements])


def pairs(group):
    return [(group.trivial(), group.regular()), (group.regular(), group.vector())]


@pytest.mark.parametrize("filters", [1, 3])
@pytest.mark.parametrize("group", [dihedral(2), dihedral(4)], ids=str)
def test_equal_weights_stay_equal_for_a_symmetric_target(group, filters):
    for in_rep, out_rep in pairs(group):
        teacher = SteerableConv2d(in_rep, out_rep, 2, 2, 3).double()
        student = SteerableConv2d(in_rep, out_rep, 2, 2, 3, relaxed=True, filters=filters).double()
        start = student.relaxed.detach().clone()
        trained(student, teacher, closed_batch(in_rep, range(group.order)))
        weights = student.relaxed.detach()
        assert (weights - start).abs().max() > 0.01  # they were trained
        assert weights.std(-1).max() < 1e-9
        assert float(spread_penalty(student).detach()) < 1e-15


@pytest.mark.parametrize(("group", "generators"), [(dihedral(2), [2]), (dihedral(4), [2, 4])])
def test_weights_follow_the_cosets_of_the_subgroup_that_is_left(group, generators):
    subgroup = group.subgroup(generators)
    cosets = group.right_cosets(subgroup)
    for in_rep, out_rep in pairs(group):
        options = {"relaxed": True, "filters": 1}
        teacher, student = (
            SteerableConv2d(in_rep, out_rep, 2, 2, 5, **options).double() for _ in range(2)
        )
        with torch.no_grad():
            for i, coset in enumerate(cosets):
                teacher.relaxed[..., list(coset)] = 1.0 - i
        actions = on_maps(in_rep), on_maps(out_rep)
        x = closed_batch(in_rep, range(group.order))
        kept = {group.elements[g] for g in subgroup}

        trained(student, teacher, x)
        for layer in (teacher, student):
            for name, error in equivariance_error(layer, x, *actions, relative=True).items():
                assert (error < 1e-9) == (name in kept), name
        weights = student.relaxed.detach()
        means = torch.stack([weights[..., list(coset)].mean(-1) for coset in cosets], -1)
        for i, coset in enumerate(cosets):
            spread = (weights[..., list(coset)] - means[..., i, None]).abs().max()
            assert spread < 1e-9
        assert (means.amax(-1) - means.amin(-1)).max() > 0.05


def test_continuous_weights_stay_equal_within_orbits():
    """On pixels a batch is closed under D_4 at most, so orbits may part but not break up."""
    grid, rho = dihedral(4), o2().irrep(1)
    layer = SteerableConv2d(o2().trivial(), rho, 2, 2, 3, relaxed=True).double()
    teacher = SteerableConv2d(o2().trivial(), rho, 2, 2, 3).double()
    scalars = grid.trivial()
    trained(layer, teacher, closed_batch(scalars, range(8)))
    weights = layer.offset_weights().detach().view(-1, 3, 3)
    edges, corners = weights[:, [0, 1, 1, 2], [1, 0, 2, 1]], weights[:, [0, 0, 2, 2], [0, 2, 0, 2]]
    assert edges.std(-1).max() < 1e-9
    assert corners.std(-1).max() < 1e-9
    x = torch.randn(2, 2, 7, 7).double()
    errors = equivariance_error(layer, x, on_maps(scalars), on_maps(rho.restrict(grid)))
    assert max(errors.values()) < 1e-9


def test_weights_are_found_by_name():
    rho = dihedral(2).regular()
    net = torch.nn.Sequential(
        SteerableConv2d(rho, rho, 1, 1, 3, relaxed=True), SteerableConv2d(rho, rho, 1, 1, 1)
    )
    found = relaxed_weights(net)
    assert {name: tuple(w.shape) for name, w in found.items()} == {"0": (1, 36, 4)}


def test_offset_weights_reach_the_pixels():
    """Over D_1 the element mirror_x owns the offsets on the other side of the middle column."""
    group = dihedral(1)
    layer = SteerableConv2d(group.trivial(), group.trivial(), 1, 1, 3, relaxed=True)
    assert layer.filters.shape == (1, 1, 6, 1)
    with torch.no_grad():
        layer.relaxed[..., 1] = 3.0
        layer.filters.fill_(1.0)
    expected = torch.tensor([[1.0, 2.0, 3.0]]).expand(3, 3)  # the middle column takes the mean
    torch.testing.assert_close(layer.kernel()[0, 0], expected)
