"""Networks from a symmetry and sizes: counts, penalties, and what is refused."""

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Invariant
from nearsym.groups.catalog import cyclic, dihedral, trivial
from nearsym.groups.representation import from_matrices, plane_of, sign, trivial_of
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.residual_path import residual_penalties
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.networks.kit import make_kit

MIRROR = dihedral(1)
TURN = dihedral(2)
REACHER = from_matrices(TURN, [np.eye(2), np.eye(2), -np.eye(2), -np.eye(2)])
PIXELS = {
    "D1": Symmetry(ImageAction(MIRROR, height=-3, width=-2), sign(MIRROR)),
    "D2": Symmetry(ImageAction(TURN, height=-3, width=-2), REACHER),
}
STATE = Symmetry(3 * sign(MIRROR), sign(MIRROR))
SMALL = {"channels": 4, "hidden": 16, "waist": 8}


def counts(symmetry, model, **options):
    networks = build_actor_critic(
        symmetry, (85, 85, 9), "drqv2", NetworkConfig(model=model, **options)
    )
    return networks.parameter_counts()


@pytest.mark.parametrize("layers", ["group", "steerable"])
@pytest.mark.parametrize("group", ["D1", "D2"])
def test_parameters_agree_at_the_paper_sizes(group, layers):
    symmetry = PIXELS[group]
    none = counts(symmetry, "none")["total"]
    exact, approx = (counts(symmetry, m, layers=layers)["total"] for m in ("exact", "approx"))
    assert abs(exact / none - 1) < 0.1
    assert abs(approx / none - 1) < 0.1
    assert 0 < approx - exact < 1000  # relaxed weights are few


@pytest.mark.parametrize(("group", "channels", "hidden"), [("D1", 22, 720), ("D2", 16, 512)])
def test_paper_widths(group, channels, hidden):
    networks = build_actor_critic(PIXELS[group], (85, 85, 9), "drqv2", NetworkConfig(model="exact"))
    assert networks.encoder.features == 7 * 7 * channels
    assert networks.actor.body.out_channels == hidden
    assert networks.critic.bodies[0].out_channels == hidden


def test_counts_are_sums_over_the_parts():
    found = counts(PIXELS["D1"], "approx", **SMALL)
    assert set(found) == {"encoder", "actor", "critic", "total"}
    assert found["total"] == found["encoder"] + found["actor"] + found["critic"]


def test_the_critics_differ_and_learn_apart():
    networks = build_actor_critic(STATE, (3,), "sac", NetworkConfig(model="exact", **SMALL))
    q = networks.critic(networks.encoder(torch.randn(5, 3)), torch.randn(5, 1))
    assert q.shape == (2, 5)
    assert (q[0] - q[1]).abs().max() > 1e-3


@pytest.mark.parametrize("part", ["actor", "critic"])
def test_rpp_has_two_penalties_on_each_part(part):
    config = NetworkConfig(model="rpp", rpp_actor=(2.0, 3.0), rpp_critic=(5.0, 7.0), **SMALL)
    networks = build_actor_critic(PIXELS["D1"], (37, 37, 9), "drqv2", config)
    modules = {"actor": [networks.actor], "critic": [networks.critic, networks.encoder]}[part]
    squares = np.sum([[float(p.detach()) for p in residual_penalties(m)] for m in modules], axis=0)
    assert squares.min() > 0
    wanted = np.dot(getattr(config, f"rpp_{part}"), squares)
    assert getattr(networks, f"{part}_penalty")().item() == pytest.approx(wanted, rel=1e-5)


def test_published_rpp_priors_reach_the_actor_only():
    networks = build_actor_critic(STATE, (3,), "sac", NetworkConfig(model="rpp", **SMALL))
    exact, free = residual_penalties(networks.actor)
    assert networks.actor_penalty().item() == pytest.approx(1e-6 * (exact + free).item())
    assert networks.critic_penalty() == 0.0


@pytest.mark.parametrize("model", ["none", "exact", "approx"])
def test_other_models_have_no_penalty(model):
    networks = build_actor_critic(STATE, (3,), "sac", NetworkConfig(model=model, **SMALL))
    assert networks.actor_penalty() == 0.0
    assert networks.critic_penalty() == 0.0


def test_the_spread_penalty_grows_with_the_spread():
    config = NetworkConfig(model="approx", spread_strength=0.5, **SMALL)
    networks = build_actor_critic(STATE, (3,), "sac", config)
    assert networks.actor_penalty().item() == 0.0
    with torch.no_grad():
        networks.actor.mean.relaxed[0, 1] += 2.0
    assert networks.actor_penalty().item() == pytest.approx(0.5 * 2.0)  # (±1)² twice
    assert networks.critic_penalty().item() == 0.0


def test_weights_come_from_the_global_generator():
    def build():
        torch.manual_seed(3)
        networks = build_actor_critic(STATE, (3,), "sac", NetworkConfig(model="approx", **SMALL))
        return torch.cat([p.flatten() for p in networks.actor.parameters()])

    assert torch.equal(build(), build())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"model": "aprox"}, "Unknown model 'aprox'. Did you mean 'approx'"),
        ({"channels": 0}, "channels must be at least 1, got 0"),
        ({"filters": 0}, "filters must be at least 1, got 0"),
        ({"sit_readout": "equivariance"}, "Did you mean 'equivariant'"),
    ],
)
def test_config_refuses(changes, text):
    with pytest.raises(UsageError, match=text):
        NetworkConfig(**changes)


def test_sit_without_pixels():
    with pytest.raises(UsageError, match="`model='sit'` reads pixels: use `obs='pixels'`"):
        build_actor_critic(STATE, (3,), "sac", NetworkConfig(model="sit"))


def test_steerable_without_pixels():
    with pytest.raises(UsageError, match="`layers='steerable'` reads pixels"):
        build_actor_critic(STATE, (3,), "sac", NetworkConfig(layers="steerable"))


@pytest.mark.parametrize("model", ["none", "exact", "rpp", "sit"])
def test_filters_belong_to_approx(model):
    with pytest.raises(UsageError, match=f"`filters` belongs to the model approx, not to {model}"):
        make_kit(model, MIRROR, filters=2)


def test_filters_reach_steerable_layers():
    kit = make_kit("approx", MIRROR, layers="steerable", filters=3)
    assert len(kit.conv(2, 2, 3).filters) == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [({"layers": "steerible"}, "Did you mean 'steerable'"), ({"model": "exat"}, "'exact'")],
)
def test_kit_names_the_nearest(options, text):
    with pytest.raises(UsageError, match=text):
        make_kit(**{"model": "approx", "group": MIRROR} | options)


def test_unknown_agent():
    with pytest.raises(UsageError, match="Unknown agent 'drqv3'\\. Did you mean 'drqv2'"):
        build_actor_critic(STATE, (3,), "drqv3", NetworkConfig())


@pytest.mark.parametrize("agent", ["drqv2", "sac"])
def test_tanh_needs_a_signed_permutation_even_of_unbounded_actions(agent):
    group = cyclic(3)
    symmetry = Symmetry(plane_of(group), plane_of(group), bounded=False)
    with pytest.raises(UsageError, match="signed permutation"):
        build_actor_critic(symmetry, (2,), agent, NetworkConfig(model="exact", **SMALL))


def test_an_observation_of_another_size_than_declared():
    with pytest.raises(UsageError, match="3"):
        build_actor_critic(STATE, (4,), "sac", NetworkConfig(model="exact", **SMALL))


def test_pixels_with_a_vector_symmetry():
    with pytest.raises(UsageError, match="Pixels need an ImageAction"):
        build_actor_critic(STATE, (37, 37, 9), "drqv2", NetworkConfig(model="exact", **SMALL))


def test_pixels_moved_along_the_wrong_axes():
    first = Symmetry(ImageAction(MIRROR), sign(MIRROR))  # channel-first, but images are not
    with pytest.raises(UsageError, match="height"):
        build_actor_critic(first, (37, 37, 9), "drqv2", NetworkConfig(model="exact", **SMALL))


def test_pictures_must_be_square():
    with pytest.raises(UsageError, match="square"):
        build_actor_critic(
            PIXELS["D1"], (37, 45, 9), "drqv2", NetworkConfig(model="exact", **SMALL)
        )


def test_none_works_without_a_symmetry():
    group = trivial()
    symmetry = Symmetry(Invariant(group), 2 * trivial_of(group))
    networks = build_actor_critic(
        symmetry, (84, 84, 9), "drqv2", NetworkConfig(model="none", **SMALL)
    )
    obs = torch.zeros(2, 84, 84, 9, dtype=torch.uint8)
    assert networks.actor(networks.encoder(obs)).shape == (2, 2)
