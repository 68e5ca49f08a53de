"""Gradients that are written out are those of autograd."""

import copy
from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

from nearsym.agents.base import Compute
from nearsym.agents.batch import Batch
from nearsym.agents.by_hand import Prior, by_hand
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.agents.losses import (
    squashed_normal_sample,
    truncated_normal_sample,
    twin_critic_loss,
)
from nearsym.agents.sac import SAC, SACConfig
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.group import FiniteGroup
from nearsym.groups.symmetry import Symmetry, TimeSymmetry
from nearsym.layers.free import FreeLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.norm import GroupLayerNorm
from nearsym.layers.passes import (
    GroupPass,
    NormPass,
    PlainPass,
    ProjectPass,
    TanhPass,
    written_out,
)
from nearsym.layers.residual_pass import ResidualPass, ResidualProjectPass
from nearsym.layers.residual_path import ResidualPath
from nearsym.layers.rows import Back
from nearsym.networks.actor_critic import ActorCritic, no_penalty
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

GROUPS = [dihedral(1), dihedral(2), dihedral(3), dihedral(4)]
MODELS = ["none", "exact", "approx", "rpp", "augment"]
WIDE = {"hidden": 80}
"""So many channels for each element that no product of hidden layers is turned round."""


def symmetry_of(group: FiniteGroup) -> Symmetry:
    """Two directions that move, and one number that does not; actions likewise."""
    moved = group.vector() if group.order > 2 else 2 * group.sign()
    signed = 2 * group.sign() if group.order == 6 else moved  # turns by 120° leave the box
    return Symmetry(moved + group.trivial(), signed + group.trivial())


def agent_of(group: FiniteGroup, dtype: torch.dtype = torch.float64, **settings) -> SAC:
    torch.manual_seed(0)
    config = NetworkConfig(**{"hidden": 16, "waist": None} | settings)
    networks = shaken(build_actor_critic(symmetry_of(group), (3,), "sac", config), dtype)
    compute = Compute(torch.device("cpu"), bfloat16=False)
    generator = torch.Generator().manual_seed(0)
    return SAC(networks, SACConfig(), compute=compute, generator=generator)


def shaken(networks: ActorCritic, dtype: torch.dtype) -> ActorCritic:
    for part in networks.parts.values():
        part.to(dtype)
        with torch.no_grad():
            for parameter in part.parameters():
                parameter += 0.3 * torch.randn_like(parameter)  # relaxed weights are not equal
    return networks


def batch_of(size: int = 32) -> Batch:
    rng = np.random.default_rng(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.normal(size=shape))

    return Batch(drawn(size, 3), drawn(size, 3).tanh(), drawn(size), drawn(size), drawn(size, 3))


def after(
    agent: SAC | DrQV2, updates: int, batch: Batch | None = None
) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    metrics: dict[str, torch.Tensor] = {}
    for step in range(updates):
        metrics = agent.update(batch_of() if batch is None else batch, step=2000 + step)
    weights = [p for part in agent.networks.parts.values() for p in part.parameters()]
    more = [agent.log_temperature] if isinstance(agent, SAC) else []
    return [*weights, *agent.target_critic.parameters(), *more], metrics


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_updates_are_those_of_autograd(model, group):
    same(agent_of(group, model=model), agent_of(group, model=model))


def same(fast: SAC | DrQV2, slow: SAC | DrQV2, batch: Batch | None = None) -> None:
    assert fast.by_hand is not None
    slow.by_hand = None
    (found, metrics), (wanted, expected) = after(fast, 3, batch), after(slow, 3, batch)
    # Adam's steps are as long for a gradient that is almost zero, and so is its rounding.
    loose = fast.networks.actor_penalty is not no_penalty
    close = {"rtol": 1e-7, "atol": 1e-9} if loose else {"rtol": 1e-9, "atol": 1e-12}
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, **close)
    assert metrics.keys() == expected.keys()
    for name in metrics:
        torch.testing.assert_close(metrics[name], expected[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("settings", [{"waist": 5}, {"critic_norm": True}, WIDE], ids=str)
def test_waists_norms_and_wide_layers_learn_as_by_autograd(model, group, settings):
    same(*(agent_of(group, model=model, **settings) for _ in range(2)))


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize(
    "settings",
    [
        {"model": "approx", "spread_strength": 0.1},
        {"model": "rpp", "rpp_actor": (0.3, 0.1), "rpp_critic": (0.2, 0.4)},
    ],
    ids=str,
)
def test_penalties_on_weights_are_learned_from_as_by_autograd(group, settings):
    same(*(agent_of(group, **settings) for _ in range(2)))
    assert largest_difference(agent_of(group, **settings)) < 1e-8
    free = agent_of(group, model=settings["model"])
    free_weights, penalised = after(free, 1)[0], after(agent_of(group, **settings), 1)[0]
    pairs = zip(free_weights, penalised, strict=True)
    assert any(not torch.equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("penalty", [lambda: 1.5, lambda: torch.zeros(())])
def test_a_penalty_that_no_weight_has_a_part_in_is_added(penalty):
    agent = agent_of(dihedral(1), model="exact")
    weights = list(agent.networks.actor.parameters())
    loss, gradients = Prior(penalty, agent.networks.actor).added(torch.ones(()), weights)
    assert loss == 1.0 + penalty()
    assert gradients is weights


def test_heads_without_residual_paths_learn_with_the_priors_of_rpp():
    """Plain heads over a window of days: rpp is about its encoder."""
    symmetry = TimeSymmetry("T", window=3, features=1, actions=3)
    agent = drqv2_of((3,), symmetry, model="rpp", window_heads="plain")
    assert agent.networks.actor_penalty is not no_penalty
    assert agent.networks.actor_penalty() == 0.0
    agent.by_hand.of_deterministic_actor(
        agent.encode(batch_of().obs).detach(), batch_of().next_obs, std=0.2, clip=0.3, penalty=0.0
    )


def test_a_penalty_on_an_encoder_is_left_to_autograd():
    symmetry = Symmetry(ImageAction(dihedral(1), height=-3, width=-2), dihedral(1).sign())
    agent = drqv2_of((37, 37, 3), symmetry, model="approx", spread_strength=0.1)
    assert agent.by_hand is None
    assert drqv2_of((37, 37, 3), symmetry, model="rpp").by_hand is not None  # on its actor only


def test_what_learned_unwatched_can_be_learned_by_autograd_later():
    """And saved, loaded and played: nothing that stays is a tensor of inference mode."""
    agent = agent_of(dihedral(2), model="approx")
    weights, _ = after(agent, 2)
    moments = [m for o in agent.optimisers.values() if o is not None for m in o.means]
    assert not any(tensor.is_inference() for tensor in [*weights, *moments])
    agent.by_hand = None
    learned, _ = after(agent, 1)
    assert all(torch.isfinite(weight).all() for weight in learned)


def drqv2_of(shape: tuple[int, ...], symmetry: Symmetry | TimeSymmetry, **settings) -> DrQV2:
    torch.manual_seed(0)
    config = NetworkConfig(**{"hidden": 16, "channels": 4, "waist": 5} | settings)
    networks = shaken(build_actor_critic(symmetry, shape, "drqv2", config), torch.float64)
    compute = Compute(torch.device("cpu"), bfloat16=False)
    generator = torch.Generator().manual_seed(0)
    learning = DrQV2Config(saturation_penalty=1e-2)
    return DrQV2(networks, learning, compute=compute, generator=generator)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_drqv2_on_vectors_learns_as_by_autograd(model, group):
    same(*(drqv2_of((3,), symmetry_of(group), model=model) for _ in range(2)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("group", GROUPS[:2], ids=str)
def test_drqv2_on_pixels_learns_as_by_autograd(model, group):
    """The encoder too, by what the heads hand back to it."""
    symmetry = Symmetry(ImageAction(group, height=-3, width=-2), symmetry_of(group).action)
    rng = torch.Generator().manual_seed(0)
    obs, later = torch.randint(0, 256, (2, 8, 37, 37, 3), dtype=torch.uint8, generator=rng)
    batch = batch_of(8)._replace(obs=obs, next_obs=later)
    agents = [drqv2_of((37, 37, 3), symmetry, model=model, critic_norm=True) for _ in range(2)]
    before = [p.clone() for p in agents[0].networks.encoder.parameters()]
    same(*agents, batch)
    moved = zip(before, agents[0].networks.encoder.parameters(), strict=True)
    assert any(not torch.equal(old, new) for old, new in moved)


@pytest.mark.parametrize("model", ["none", "approx"])
@pytest.mark.parametrize("waist", [5, None])
def test_what_drqv2_hands_to_its_encoder_and_actor_is_autograds(model, waist):
    """Adam forgives a gradient that is too long by a factor; this does not."""
    group = dihedral(2)
    symmetry = Symmetry(ImageAction(group, height=-3, width=-2), symmetry_of(group).action)
    agent = drqv2_of((37, 37, 3), symmetry, model=model, waist=waist)
    networks, batch = agent.networks, batch_of(8)
    obs = torch.randint(0, 256, (8, 37, 37, 3), dtype=torch.uint8)
    weights = list(networks.encoder.parameters())

    features = networks.encoder(obs)
    found = agent.by_hand.of_critic(features, batch.action, batch.reward, wants_features=True)
    by_hand = torch.autograd.grad(features, weights, found.by_features)
    features = networks.encoder(obs)
    loss = twin_critic_loss(networks.critic(features, batch.action), batch.reward)
    for one, other in zip(by_hand, torch.autograd.grad(loss, weights), strict=True):
        torch.testing.assert_close(one, other)

    features, noise = features.detach(), batch.next_obs
    step = agent.by_hand.of_deterministic_actor(
        features, noise, std=0.2, clip=agent.config.noise_clip, penalty=1e-2
    )
    u = networks.actor(features)
    action = truncated_normal_sample(torch.tanh(u), 0.2, noise, agent.config.noise_clip)
    loss = -networks.critic(features, action).amin(dim=0).mean() + 1e-2 * u.square().mean()
    torch.testing.assert_close(step.loss, loss.detach())
    wanted = torch.autograd.grad(loss, list(networks.actor.parameters()))
    for one, other in zip(step.gradients, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("layer", [GroupLayerNorm(dihedral(2), 3), nn.Tanh(), nn.ReLU()], ids=repr)
def test_a_layer_between_others_goes_back_as_autograd_does(layer):
    layer = layer.double()
    x = torch.randn(5, 4, 3, dtype=torch.float64, requires_grad=True)
    dy = torch.randn(5, 4, 3, dtype=torch.float64)
    wanted = torch.autograd.grad(layer(x), [x, *layer.parameters()], dy)

    def rows(features: torch.Tensor) -> torch.Tensor:
        return features.transpose(0, 1).reshape(-1, 3)

    passes = written_out(layer)
    with torch.no_grad():
        y, saved = passes.forward(rows(x.detach()).clone())
        back = passes.backward(saved, rows(dy), learns=True, wants_x=True)
    torch.testing.assert_close(y, rows(layer(x)))
    for one, other in zip([back.dx, *back.learned], [rows(wanted[0]), *wanted[1:]], strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("free_bias", [False, True])
def test_biases_of_a_residual_path(bias, free_bias):
    """Both layers have one, or none; other paths are left to autograd."""
    exact = GroupLinear(dihedral(2), 3, 5, bias=bias)
    path = ResidualPath(exact, FreeLinear((4, 3), (4, 5), bias=free_bias))
    passes = written_out(path)
    if bias != free_bias:
        assert passes is None
        return
    x = torch.randn(6, 4, 3)
    y, _ = passes.forward(x.transpose(0, 1).reshape(-1, 3))
    torch.testing.assert_close(y.view(4, 6, 5).transpose(0, 1), path(x))


def test_a_clamped_deviation_has_no_gradient():
    fast, slow = agent_of(dihedral(1), model="exact"), agent_of(dihedral(1), model="exact")
    slow.by_hand = None
    for agent in (fast, slow):
        with torch.no_grad():
            agent.networks.actor.log_std.bias += 4.0  # beyond the range for some of the batch
    _, log_std = fast.networks.actor(fast.encode(batch_of().obs))
    assert 0 < (log_std == 2.0).sum() < log_std.numel()
    for one, other in zip(after(fast, 1)[0], after(slow, 1)[0], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def gradients(agent: SAC) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """By hand and by autograd: those of the critics, then those of the actor."""
    networks = agent.networks
    dtype = next(networks.actor.parameters()).dtype
    batch = Batch(*(part.to(dtype) for part in batch_of()))
    features, target = agent.encode(batch.obs), batch.reward
    noise, temperature = batch.next_obs, agent.temperature.to(dtype)
    critic = agent.by_hand.of_critic(features, batch.action, target)
    actor = agent.by_hand.of_normal_actor(features, noise, temperature)

    loss = twin_critic_loss(networks.critic(features, batch.action), target)
    loss = loss + networks.critic_penalty()
    of_critic = torch.autograd.grad(loss, list(networks.critic.parameters()))
    action, log_prob = squashed_normal_sample(*networks.actor(features), noise)
    q = networks.critic(features, action).amin(dim=0)
    loss = (temperature * log_prob - q).mean() + networks.actor_penalty()
    of_actor = torch.autograd.grad(loss, list(networks.actor.parameters()))
    return [*critic.gradients, *actor.gradients], [*of_critic, *of_actor]


def largest_difference(agent: SAC) -> float:
    """Relative to the largest entry of each gradient."""
    pairs = zip(*gradients(agent), strict=True)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


@pytest.mark.parametrize(
    ("model", "group"),
    [*product(MODELS, GROUPS), ("rpp", cyclic(4))],
    ids=str,
)
def test_every_gradient_is_that_of_autograd(model, group):
    agent = agent_of(group, model=model)
    assert largest_difference(agent) < 1e-8  # autograd's softplus is linear beyond 20
    assert largest_difference(agent_of(group, torch.float32, model=model)) < 1e-4


def test_critics_that_agree_share_the_gradient():
    agent = agent_of(dihedral(1), model="approx")
    critic = agent.networks.critic
    critic.bodies[1].load_state_dict(critic.bodies[0].state_dict())
    critic.values[1].load_state_dict(critic.values[0].state_dict())
    assert largest_difference(agent) < 1e-8


@pytest.mark.parametrize(
    "kind", [PlainPass, GroupPass, ProjectPass, ResidualPass, ResidualProjectPass, NormPass]
)
@pytest.mark.parametrize("which", [0, -1])
def test_a_gradient_that_is_off_by_a_thousandth_is_seen(kind, which, monkeypatch):
    backward = kind.backward

    def wrong(passes, saved, dy, *, learns, wants_x):
        found = backward(passes, saved, dy, learns=learns, wants_x=wants_x)
        if learns:
            found.learned[which] = found.learned[which] * 1.001
        return found

    monkeypatch.setattr(kind, "backward", wrong)
    beside_free = kind in (ResidualPass, ResidualProjectPass)
    model = "none" if kind is PlainPass else "rpp" if beside_free else "approx"
    assert largest_difference(agent_of(dihedral(1), model=model, waist=5)) > 1e-4


def test_a_tanh_that_goes_back_wrongly_is_seen(monkeypatch):
    def wrong(passes, saved, dy, *, learns, wants_x):
        return Back(1.001 * dy * (1 - saved**2), [])

    monkeypatch.setattr(TanhPass, "backward", wrong)
    assert largest_difference(agent_of(dihedral(1), model="approx", waist=5)) > 1e-4


@pytest.mark.parametrize(
    "settings", [{"model": "approx", "spread_strength": 0.1}, {"model": "rpp", "rpp_actor": (1, 1)}]
)
def test_a_copied_agent_learns_by_itself(settings):
    agent = agent_of(dihedral(1), **settings)
    twin = copy.deepcopy(agent)
    for one, other in zip(after(agent, 3)[0], after(twin, 3)[0], strict=True):
        assert torch.equal(one, other)


def test_weights_that_were_replaced_are_used():
    agent = agent_of(dihedral(1), model="approx")
    with torch.no_grad():
        for parameter in agent.networks.critic.parameters():
            parameter.data = parameter.data + 0.1
    assert largest_difference(agent) < 1e-8


def test_frozen_weights_are_left_to_autograd():
    networks = agent_of(dihedral(1), model="exact").networks
    next(networks.critic.parameters()).requires_grad_(False)
    assert by_hand(networks, networks.critic) is None


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "mirror"},
        {"model": "approx", "filters": 2},
        {"model": "approx", "relax": "output"},
    ],
    ids=str,
)
def test_other_networks_learn_by_autograd(settings):
    agent = agent_of(dihedral(1), **settings)
    assert agent.by_hand is None
    after(agent, 1)
