"""Encoders of windows of days: what a delay of everything changes, and what it does not.

On a long window, with quiet days at both ends, no kernel reaches past the border: there the
encoders are exactly invariant. (On the nine days of the trading task borders are everywhere.)
"""

import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.symmetry import TimeSymmetry
from nearsym.layers.relaxation import relaxed_weights
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.networks.window import window_encoder

DAYS, FEATURES = 60, 3


def time_symmetry(kind):
    return TimeSymmetry(kind, DAYS, FEATURES, actions=2)


@pytest.fixture(params=["T", "ST"])
def window(request):
    return time_symmetry(request.param)


def encoder_of(model, window, **options):
    return window_encoder(model, window, hidden=8, features=6, **options).double()


def delayed(days: int) -> torch.Tensor:
    """Five busy days in the middle of a quiet window, some days later."""
    busy = torch.randn(4, 5, FEATURES, generator=torch.Generator().manual_seed(0)).double()
    obs = torch.zeros(4, DAYS, FEATURES, dtype=torch.float64)
    obs[:, 26 + days : 31 + days] = busy
    return obs.flatten(1)


def change(encoder) -> float:
    with torch.no_grad():
        return float((encoder(delayed(0)) - encoder(delayed(4))).abs().max())


@pytest.mark.parametrize("model", ["exact", "approx"])
@pytest.mark.parametrize("filters", [1, 3])
def test_a_delay_changes_nothing(model, filters, window):
    options = {"filters": filters} if model == "approx" else {}
    encoder = encoder_of(model, window, **options)
    out = encoder(delayed(0))
    assert out.shape == (4, 1, 6)
    assert out.abs().max() > 1e-4
    assert change(encoder) < 1e-10


def test_none_sees_the_delay(window):
    assert change(encoder_of("none", window)) > 1e-3


def test_rpp_hardly_sees_it(window):
    assert 1e-9 < change(encoder_of("rpp", window)) < 0.02


def test_each_relaxed_weight_makes_approx_see_it(window):
    """A weight of time on one busy day; a weight of scale alone keeps the symmetry of time."""
    encoder = encoder_of("approx", window)
    names = relaxed_weights(encoder)
    assert len(names) >= 5
    for name, weight in names.items():
        of_time = weight.shape[-1] == DAYS
        weight[..., 28 if of_time else 0] += 1.0
        assert (change(encoder) > 1e-6) == of_time, name
        weight[..., 28 if of_time else 0] -= 1.0
    assert change(encoder) < 1e-10


def test_observations_are_time_major():
    """A feature of the last day stands at the end."""
    encoder = encoder_of("exact", time_symmetry("T"))
    obs = torch.zeros(1, DAYS * FEATURES, dtype=torch.float64)
    obs[0, -FEATURES:] = 1.0
    by_hand = torch.zeros(1, FEATURES, DAYS, dtype=torch.float64)
    by_hand[..., -1] = 1.0
    for layer in encoder.layers:
        by_hand = torch.relu(layer(by_hand))
    assert torch.allclose(encoder(obs)[0, 0], by_hand.mean(-1)[0])


@pytest.mark.parametrize("model", ["none", "exact", "approx", "rpp"])
def test_heads_on_top(model, window):
    config = NetworkConfig(model=model, hidden=8, window_features=6, waist=None)
    networks = build_actor_critic(window, (DAYS * FEATURES,), "sac", config)
    obs = torch.randn(4, DAYS * FEATURES)
    mean, log_std = networks.actor(networks.encoder(obs))
    assert mean.shape == log_std.shape == (4, 2)
    assert networks.critic(networks.encoder(obs), torch.tanh(mean)).shape == (2, 4)
    assert bool(relaxed_weights(networks.encoder)) == (model == "approx")


def test_refusals(window):
    with pytest.raises(UsageError, match="sit reads pixels; a window of days takes another"):
        encoder_of("sit", window)
    with pytest.raises(UsageError, match="Unknown symmetry of time 'TS'"):
        TimeSymmetry("TS", 9, 3, 2)
