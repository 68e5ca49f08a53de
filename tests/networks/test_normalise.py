"""Normalised observations: one scale for each orbit, means only where nothing moves them."""

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import cyclic, dihedral, trivial
from nearsym.groups.representation import from_matrices, plane_of, regular, sign, trivial_of
from nearsym.groups.symmetry import Symmetry
from nearsym.measures.equivariance import equivariance_error
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.networks.encoder import FARTHEST, VectorEncoder
from nearsym.networks.normalise import LONGEST, USUAL, Normaliser, blocks

MIRROR = dihedral(1)
SKEW = np.array([[1.0, 0.0], [1.0, -1.0]])  # an involution that is not orthogonal
REPRESENTATIONS = {
    "signs and a swap": sign(MIRROR) + trivial_of(MIRROR) + 2 * regular(MIRROR),
    "the plane by thirds": trivial_of(cyclic(3)) + 2 * plane_of(cyclic(3)),
    "the square": plane_of(dihedral(4)) + regular(dihedral(4)) + sign(dihedral(4)),
    "not orthogonal": from_matrices(MIRROR, [np.eye(2), SKEW], "skew"),
}


def seen(size, count=64):
    """Observations of very different scales, and nothing symmetric about them."""
    generator = torch.Generator().manual_seed(1)
    scales = torch.logspace(-2, 3, size)
    return scales * (2 + torch.randn(count, size, generator=generator))


def watching(representation, dtype=torch.float32):
    encoder = VectorEncoder(representation, normalise=True)
    encoder = encoder.double() if dtype == torch.float64 else encoder
    for batch in seen(representation.size).split(16):
        encoder.normaliser.watch(batch)
    return encoder


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_scales_are_equal_on_orbits_and_means_are_invariant(name):
    rho = REPRESENTATIONS[name]
    normaliser = watching(rho).normaliser
    for matrix in rho.matrices:
        for i, j in np.argwhere(matrix != 0):
            assert normaliser.scale[i] == normaliser.scale[j]
        moved = matrix @ normaliser.shift.double().numpy()
        assert np.allclose(moved, normaliser.shift, rtol=1e-6, atol=1e-4)
    assert len(set(normaliser.scale.tolist())) <= blocks(rho).max() + 1
    assert (normaliser.scale != 1).any()


@pytest.mark.parametrize("name", REPRESENTATIONS)
def test_the_encoder_stays_exact(name, dtype, tolerance):
    rho = REPRESENTATIONS[name]
    encoder = watching(rho, dtype)
    x = seen(rho.size).to(dtype)
    moved = regular(rho.group).along(1)
    assert max(equivariance_error(encoder, x, rho, moved).values()) < 100 * tolerance
    assert encoder(100 * x).abs().max() == FARTHEST  # what is clipped is exact as well
    assert max(equivariance_error(encoder, 100 * x, rho, moved).values()) < 1000 * tolerance


@pytest.mark.parametrize("part", ["scale", "shift"])
def test_a_normaliser_that_minds_no_group_would_break_it(part):
    rho = REPRESENTATIONS["signs and a swap"]
    encoder, plain = watching(rho), Normaliser(6 * trivial_of(trivial()))
    plain.watch(seen(rho.size))
    getattr(encoder.normaliser, part).copy_(getattr(plain, part))
    found = equivariance_error(encoder, seen(rho.size), rho, regular(rho.group).along(1))
    assert max(found.values()) > 0.1


def test_without_a_group_it_is_mean_and_deviation():
    x, plain = seen(5), Normaliser(5 * trivial_of(trivial()))
    for batch in x.split(16):
        plain.watch(batch)
    usual = x.std(0, correction=0).clamp(*USUAL)  # what is between 0.1 and 10 stays
    assert torch.allclose(plain(x).mean(0), torch.zeros(5), atol=1e-4)
    assert torch.allclose(plain(x).std(0, correction=0), usual, rtol=1e-4)
    assert (plain.scale == 1).any()


def test_the_moments_are_those_of_the_observations_and_their_images():
    rho = REPRESENTATIONS["signs and a swap"]
    x, normaliser = seen(rho.size), Normaliser(rho)
    normaliser.watch(x)
    images = torch.cat([rho.act(g, x.double()) for g in range(2)])
    assert torch.allclose(normaliser.shift.double(), images.mean(0), rtol=1e-5, atol=1e-5)
    deviation = images.std(0, correction=0)
    assert torch.allclose(normaliser.scale.double(), deviation / deviation.clamp(*USUAL), rtol=1e-5)


def test_it_follows_what_changes():
    plain = Normaliser(trivial_of(trivial()))
    for value, count in ((0.0, 10), (800.0, 6 * LONGEST)):
        for _ in range(count):
            plain.watch(torch.tensor([[value - 100], [value + 100]]))
    assert plain.shift == pytest.approx(800.0, abs=5)
    assert plain.scale == pytest.approx(10.0, abs=0.5)


@pytest.mark.parametrize("value", [0.0, 1e6])
def test_what_never_varies_is_not_blown_up(value):
    plain = Normaliser(trivial_of(trivial()))
    assert plain(torch.tensor([[value]])) == value  # nothing seen: nothing done
    plain.watch(torch.full((4, 1), value))
    assert plain.scale == 1.0
    assert plain(torch.tensor([[value + 2]])) == 2.0


def test_offsets_do_not_eat_small_scales():
    plain = Normaliser(trivial_of(trivial()))
    plain.watch(torch.tensor([[1000.0], [1000.01]]))
    assert plain(torch.tensor([[1000.0]])).item() == pytest.approx(-0.1, abs=2e-3)


def test_nothing_is_learned_by_gradients_and_everything_is_saved():
    rho = REPRESENTATIONS["the square"]
    encoder, fresh = watching(rho), VectorEncoder(rho, normalise=True)
    assert not list(encoder.parameters())
    fresh.load_state_dict(encoder.state_dict())
    x = seen(rho.size)
    assert torch.equal(fresh(x), encoder(x))
    for one in (fresh, encoder):
        one.normaliser.watch(3 * x)
    assert torch.equal(fresh(x), encoder(x))
    assert not VectorEncoder(rho).state_dict()  # as before there was such a setting


@pytest.mark.parametrize("model", ["none", "exact", "approx", "rpp", "augment", "mirror"])
def test_every_model_of_vectors_takes_it(model):
    symmetry = Symmetry(REPRESENTATIONS["signs and a swap"], sign(MIRROR))
    sizes = NetworkConfig(model=model, hidden=16, waist=None, normalise=True)
    networks = build_actor_critic(symmetry, (6,), "sac", sizes)
    assert networks.normaliser is not None
    networks.normaliser.watch(seen(6))
    shared = networks.normaliser.scale[4] == networks.normaliser.scale[5]  # they change places
    assert shared == (model in ("exact", "approx", "rpp"))


def test_images_are_refused():
    symmetry = Symmetry(ImageAction(MIRROR, height=-3, width=-2), sign(MIRROR))
    sizes = NetworkConfig(model="exact", channels=4, hidden=16, normalise=True)
    with pytest.raises(UsageError, match=r"`normalise` is about vectors; images .* Leave it away"):
        build_actor_critic(symmetry, (37, 37, 3), "drqv2", sizes)
