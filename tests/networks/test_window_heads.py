"""Heads that keep time: sizes equal to none's, exactness on long windows, and its violation."""

import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.symmetry import TimeSymmetry
from nearsym.layers.relaxation import relaxed_weights
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

DAYS, FEATURES, ACTIONS = 60, 3, 2
SIZES = {"hidden": 8, "window_features": 6, "waist": None, "actor_depth": 0, "critic_depth": 1}


def networks_of(model, kind, agent="sac", **options):
    symmetry = TimeSymmetry(kind, DAYS, FEATURES, ACTIONS)
    config = NetworkConfig(model=model, **({"window_heads": "conv"} | SIZES | options))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        networks = build_actor_critic(symmetry, (DAYS * FEATURES,), agent, config)
    for part in networks.parts.values():
        part.double()
    return networks


def delayed(days):
    """Five busy days in the middle of a quiet window, some days later."""
    busy = torch.randn(4, 5, FEATURES, generator=torch.Generator().manual_seed(0)).double()
    obs = torch.zeros(4, DAYS, FEATURES, dtype=torch.float64)
    obs[:, 26 + days : 31 + days] = busy
    return obs.flatten(1)


def outputs(networks, obs):
    action = torch.linspace(-1, 1, 4 * ACTIONS).double().view(4, ACTIONS)
    features = networks.encoder(obs)
    made = networks.actor(features)
    made = made if isinstance(made, tuple) else (made,)
    return (*made, networks.critic(features, action).T)


def change(networks):
    with torch.no_grad():
        pairs = zip(outputs(networks, delayed(0)), outputs(networks, delayed(4)), strict=True)
        return [float((a - b).abs().max()) for a, b in pairs]


@pytest.mark.parametrize("kind", ["T", "ST"])
@pytest.mark.parametrize("model", ["exact", "approx"])
@pytest.mark.parametrize("agent", ["sac", "drqv2"])
def test_a_delay_changes_neither_policy_nor_values(kind, model, agent):
    networks = networks_of(model, kind, agent)
    with torch.no_grad():
        assert all(out.abs().max() > 1e-4 for out in outputs(networks, delayed(0)))
    assert max(change(networks)) < 1e-10


@pytest.mark.parametrize("kind", ["T", "ST"])
def test_every_relaxed_weight_of_time_breaks_it(kind):
    """Also those of the heads; weights of scale alone keep the symmetry of time."""
    networks = networks_of("approx", kind)
    parts = {name: relaxed_weights(part) for name, part in networks.parts.items()}
    assert all(parts.values())
    for part, named in parts.items():
        for name, weight in named.items():
            of_time = weight.shape[-1] == DAYS
            with torch.no_grad():
                weight[..., 28 if of_time else 0] += 1.0
                moved = max(change(networks))
                weight[..., 28 if of_time else 0] -= 1.0
            assert (moved > 1e-9) == of_time, f"{part} {name}"
    assert max(change(networks)) < 1e-10


@pytest.mark.parametrize("kind", ["T", "ST"])
def test_none_sees_the_delay_and_the_action_is_seen(kind):
    assert min(change(networks_of("none", kind))) > 1e-4
    networks = networks_of("exact", kind)
    features = networks.encoder(delayed(0))
    one, other = (networks.critic(features, torch.full((4, 2), a).double()) for a in (0.1, 0.9))
    assert (one - other).abs().min() > 1e-6


@pytest.mark.parametrize(("stocks", "each"), [(30, 10), (20, 8), (5, 8), (1, 8), (100, 10)])
@pytest.mark.parametrize(
    ("model", "kind"), [(m, k) for m in ("exact", "approx") for k in ("T", "ST")]
)
def test_totals_agree_with_none_within_ten_per_cent(stocks, each, model, kind):
    symmetry = TimeSymmetry(kind, 9, 1 + stocks * each, stocks)
    sizes = {"hidden": 128, "window_features": 256} | {n: SIZES[n] for n in list(SIZES)[2:]}

    def total(model):
        config = NetworkConfig(model=model, window_heads="conv", **sizes)
        shape = (9 * symmetry.features,)
        return build_actor_critic(symmetry, shape, "sac", config).parameter_counts()["total"]

    assert total(model) == pytest.approx(total("none"), rel=0.1)


def test_the_search_draws_no_number_that_the_networks_would_draw():
    """The same weights whether a width is searched for or not."""
    first, second = (networks_of("exact", "T").encoder.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("model", ["none", "exact", "approx", "rpp"])
def test_plain_heads_are_an_option(model):
    networks = networks_of(model, "T", window_heads="plain")
    assert networks.encoder(delayed(0)).shape == (4, 1, 6)
    assert not relaxed_weights(networks.actor)


def test_refusals():
    with pytest.raises(UsageError, match="`waist` belongs to plain heads"):
        networks_of("exact", "T", waist=50)
    with pytest.raises(UsageError, match="`critic_norm` belongs to plain heads"):
        networks_of("exact", "T", critic_norm=True)
    with pytest.raises(UsageError, match=r"Unknown `window_heads` 'cnv'\. Did you mean 'conv'"):
        NetworkConfig(window_heads="cnv")
    with pytest.raises(UsageError, match="sit reads pixels"):
        networks_of("sit", "T")
