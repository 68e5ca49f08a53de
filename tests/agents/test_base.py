"""The steps every update is made of."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from nearsym.agents.adam import adam
from nearsym.agents.base import Compute, normal_like
from nearsym.errors import UsageError
from nearsym.layers.relaxation import relaxed_parameters


def test_the_target_follows_a_fraction(make_agent):
    agent = make_agent("sac", target_tau=0.1)
    target, critic = agent.target_critic, agent.networks.critic
    with torch.no_grad():
        for weight in critic.parameters():
            weight.add_(1.0)
    before = [weight.clone() for weight in target.parameters()]
    agent.end_update()
    for old, new, goal in zip(before, target.parameters(), critic.parameters(), strict=True):
        assert torch.allclose(new, 0.9 * old + 0.1 * goal)


def test_adam_of_nothing_is_nothing():
    assert adam(1e-3, nn.ReLU()) is None
    assert adam(1e-3, nn.Sequential(nn.ReLU(), nn.Linear(1, 1))) is not None


def test_relaxed_weights_learn_at_their_own_rate(make_agent, make_batch):
    def after_one_step(**given):
        agent = make_agent("sac", network={"model": "approx", **given}, learning_rate=1e-3)
        before = {k: w.clone() for k, w in agent.networks.critic.named_parameters()}
        agent.update(make_batch(), step=0)
        now = dict(agent.networks.critic.named_parameters())
        return {k: (now[k] - w).detach() for k, w in before.items()}

    usual, slow = after_one_step(), after_one_step(relaxed_rate=0.25)
    for name, step in usual.items():
        share = 0.25 if name.endswith("relaxed") else 1.0
        assert torch.allclose(slow[name], share * step, rtol=1e-3, atol=1e-7), name
    assert any(name.endswith("relaxed") and step.abs().max() > 0 for name, step in usual.items())


def test_a_learning_rate_that_falls(make_agent, make_batch):
    """Adam's first step is as long as the rate: at step 50 of 100 towards a tenth, 0.55 of it."""

    def after_one_step(at, **settings):
        agent = make_agent("drqv2", **settings)
        before = [p.detach().clone() for p in agent.networks.actor.parameters()]
        agent.update(make_batch(seed=0), step=at)
        after = agent.networks.actor.parameters()
        return [new.detach() - old for old, new in zip(before, after, strict=True)]

    schedule = {"rate_end": 0.1, "rate_steps": 100}
    noise = {"std_start": 0.2, "std_end": 0.2}  # so that nothing else depends on the step
    usual = after_one_step(50, **noise)
    for at, share in ((0, 1.0), (50, 0.55), (100, 0.1), (1000, 0.1)):
        for step, whole in zip(after_one_step(at, **schedule, **noise), usual, strict=True):
            # Steps of tiny gradients are rounding errors, which may differ from run to run.
            long = whole.abs() > 0.9 * whole.abs().max()
            assert torch.allclose(step[long], share * whole[long], rtol=1e-3, atol=1e-7)


def test_relaxed_weights_are_drawn_together(make_agent):
    agent = make_agent("sac", network={"model": "approx", "relaxed_decay": 0.25})
    weights = [w for part in agent.networks.parts.values() for w in relaxed_parameters(part)]
    with torch.no_grad():
        for weight in weights:
            weight[..., 0] += 1.0
    before = [w.clone() for w in weights]
    agent.end_update()
    assert weights
    for old, new in zip(before, weights, strict=True):
        mean = old.mean(-1, keepdim=True)
        assert torch.allclose(new - mean, 0.75 * (old - mean), atol=1e-6)


def test_relaxed_weights_begin_to_learn_later(make_agent, make_batch):
    exact = make_agent("sac", network={"model": "exact"})
    later = make_agent("sac", network={"model": "approx", "relaxed_from": 3})
    relaxed = [w for part in later.networks.parts.values() for w in relaxed_parameters(part)]
    for n in range(1, 6):
        for agent in (exact, later):
            agent.update(make_batch(seed=n), step=n)
        assert all((w == 1).all() for w in relaxed) == (n <= 3)
        obs = make_batch(seed=0).obs.numpy()
        assert np.array_equal(exact.policy(obs), later.policy(obs)) == (n <= 3)


def test_when_relaxed_weights_begin_is_remembered(make_agent, make_batch):
    whole, first, second = (
        make_agent("sac", network={"model": "approx", "relaxed_from": 3}) for _ in range(3)
    )
    for n in range(6):
        whole.update(make_batch(seed=n), step=n)
        if n < 2:
            first.update(make_batch(seed=n), step=n)
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for n in range(2, 6):
        second.update(make_batch(seed=n), step=n)
    for one, other in zip(
        whole.networks.actor.parameters(), second.networks.actor.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_noise_has_type_and_shape(dtype):
    x = torch.zeros(4, 3, dtype=dtype)
    noise = normal_like(x, torch.Generator().manual_seed(0))
    assert noise.shape == x.shape
    assert noise.dtype == dtype
    assert torch.equal(noise, normal_like(x, torch.Generator().manual_seed(0)))


def test_bfloat16_features_come_back_in_float32():
    encoder = nn.Linear(3, 2)
    x = torch.randn(4, 3)
    exact = Compute(torch.device("cpu"), bfloat16=False).encode(encoder, x)
    rough = Compute(torch.device("cpu"), bfloat16=True).encode(encoder, x)
    assert exact.dtype == rough.dtype == torch.float32
    assert 0 < (exact - rough).abs().max() < 0.05


def test_state_vectors_are_never_rounded(make_agent, make_batch):
    """The vector encoder only moves numbers around: bfloat16 would throw away what was seen."""
    exact, rough = make_agent("sac"), make_agent("sac", bfloat16=True)
    obs = make_batch().obs.numpy()
    assert (exact.policy(obs) == rough.policy(obs)).all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda w: w.pop("class_token"), r"at 'class_token' it has nothing, expected shape \(1, 1"),
        (lambda w: w.update(old=torch.ones(3)), r"at 'old' it has shape \(3,\), expected nothing"),
        (lambda w: w.update(class_token=torch.ones(7)), r"has shape \(7,\), expected shape \(1, 1"),
    ],
    ids=["missing", "unknown", "of another shape"],
)
def test_weights_of_another_version_are_refused(change, text, make_agent):
    agent = make_agent(pixels=True, network={"model": "sit"})
    state = agent.state_dict()
    make_agent(pixels=True, network={"model": "sit"}, seed=1).load_weights(state)
    change(state["encoder"])
    with pytest.raises(
        UsageError, match=rf"^The saved encoder is not .*{text}.* or train again\.$"
    ):
        agent.load_weights(state)
