"""Encoders: sizes, scaling, the orbit of a vector."""

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral, trivial
from nearsym.groups.representation import plane_of, regular
from nearsym.networks.encoder import PixelEncoder, VectorEncoder, check_size, scaled_pixels
from nearsym.networks.kit import make_kit


@pytest.mark.parametrize(("size", "side"), [(85, 7), (53, 3), (37, 1)])
def test_the_map_shrinks_as_the_paper_says(size, side):
    encoder = PixelEncoder(make_kit("exact", dihedral(1)), size, 3, 4)
    out = encoder(torch.zeros(2, size, size, 3, dtype=torch.uint8))
    assert out.shape == (2, 2, 4 * side * side)
    assert encoder.features == 4 * side * side


@pytest.mark.parametrize(("size", "side"), [(51, 3), (43, 2), (83, 7)])
@pytest.mark.parametrize("model", ["exact", "approx", "rpp"])
def test_with_a_stride_the_map_shrinks_as_much_and_stays_exact(size, side, model):
    group = dihedral(4)
    encoder = PixelEncoder(make_kit(model, group), size, 3, 4).double()
    images = torch.randint(0, 256, (2, size, size, 3), dtype=torch.uint8)
    act, permute = ImageAction(group, -3, -2), regular(group).along(1)
    out = encoder(images)
    assert out.shape == (2, 8, 4 * side * side)
    free = 1e-2 if model == "rpp" else 1e-12  # the free path of rpp starts small
    for g in range(group.order):
        error = encoder(act.act(g, images)) - permute.act(g, out)
        assert error.abs().max() < free * out.abs().max()


@pytest.mark.parametrize("size", [36, 35, 0, -5])
def test_too_small(size):
    with pytest.raises(UsageError, match=f"37 px or more, got {size}"):
        check_size(size, exact=False)


@pytest.mark.parametrize(
    ("size", "below", "above"),
    [(64, 61, 67), (84, 83, 85), (54, 53, 59), (38, 37, 43)],
)
def test_sizes_that_are_not_exact_name_the_nearest(size, below, above):
    with pytest.raises(UsageError, match=rf"got {size}\. The nearest are {below} and {above}\."):
        check_size(size, exact=True)


def test_without_a_group_any_size_will_do():
    for size in (64, 84, 41):
        encoder = PixelEncoder(make_kit("none", dihedral(1)), size, 3, 4)
        out = encoder(torch.zeros(1, size, size, 3, dtype=torch.uint8))
        assert out.shape == (1, 1, encoder.features)


def test_bytes_are_scaled_to_plus_minus_a_half():
    obs = torch.tensor([0, 51, 255], dtype=torch.uint8).view(1, 1, 1, 3)
    scaled = scaled_pixels(obs, torch.float64)
    assert scaled.shape == (1, 3, 1, 1)
    assert scaled.flatten().tolist() == pytest.approx([-0.5, -0.3, 0.5], abs=1e-12)


def test_scaling_leaves_its_input_alone():
    for kind in (torch.uint8, torch.float32):
        obs = torch.full((1, 2, 2, 3), 7).to(kind)
        scaled_pixels(obs, torch.float32)
        assert (obs == 7).all()


@pytest.mark.parametrize("group", [dihedral(1), dihedral(3)], ids=str)
def test_the_orbit_of_a_vector_is_a_regular_representation(group):
    rho = plane_of(group)
    encoder = VectorEncoder(rho)
    x = torch.randn(4, 2)
    permute = regular(group).along(1)
    for g in range(group.order):
        assert torch.allclose(encoder(rho.act(g, x)), permute.act(g, encoder(x)), atol=1e-6)
        by_hand = np.linalg.inv(rho.matrices[g]) @ x[0].numpy()
        assert np.allclose(encoder(x)[0, g].numpy(), by_hand, atol=1e-6)


def test_the_trivial_orbit_is_the_vector():
    x = torch.randn(4, 2)
    assert torch.equal(VectorEncoder(plane_of(trivial()))(x)[:, 0], x)
