"""One update: which weights move, what the losses are, and that everything repeats."""

import warnings

import numpy as np
import pytest
import torch

from nearsym.agents.augment import draw_shifts, shift_images
from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.losses import squashed_normal_sample
from nearsym.agents.sac import SACConfig
from nearsym.layers.relaxation import relaxed_weights

AGENTS = [("drqv2", False), ("drqv2", True), ("sac", False)]
any_agent = pytest.mark.parametrize(("agent", "pixels"), AGENTS)


def critic_step(agent, batch):
    features = agent.networks.encoder(batch.obs)
    extra = (0.2,) if hasattr(agent, "std") else ()
    return agent.fit_critic(features, batch.action, agent._target(batch, *extra))


def actor_step(agent, batch):
    features = agent.networks.encoder(batch.obs).detach()
    extra = (0.2,) if hasattr(agent, "std") else ()
    return agent._update_actor(batch.obs, features, *extra)


@any_agent
def test_the_critic_update_moves_critic_and_encoder_only(
    agent, pixels, make_agent, make_batch, weights
):
    learner = make_agent(agent, pixels=pixels)
    parts = learner.networks.parts | {"target": learner.target_critic}
    before = {k: weights(p) for k, p in parts.items() if list(p.parameters())}
    critic_step(learner, make_batch(pixels=pixels))
    moved = {k for k, w in before.items() if not torch.equal(w, weights(parts[k]))}
    assert moved == ({"critic", "encoder"} if pixels else {"critic"})


@any_agent
def test_the_actor_update_moves_the_actor_only(agent, pixels, make_agent, make_batch, weights):
    learner = make_agent(agent, pixels=pixels)
    parts = learner.networks.parts | {"target": learner.target_critic}
    before = {k: weights(p) for k, p in parts.items() if list(p.parameters())}
    actor_step(learner, make_batch(pixels=pixels))
    moved = {k for k, w in before.items() if not torch.equal(w, weights(parts[k]))}
    assert moved == {"actor"}
    assert all(p.requires_grad for p in learner.networks.critic.parameters())


@any_agent
def test_the_target_follows_slowly(agent, pixels, make_agent, make_batch, weights):
    learner = make_agent(agent, pixels=pixels, target_tau=0.25, learning_rate=1e-2)
    before = weights(learner.target_critic)
    learner.update(make_batch(pixels=pixels), step=0)
    expected = 0.75 * before + 0.25 * weights(learner.networks.critic)
    assert torch.allclose(weights(learner.target_critic), expected, atol=1e-7)
    assert not any(p.requires_grad for p in learner.target_critic.parameters())


def test_drqv2_losses_by_hand(make_agent, make_batch):
    """With std 0 nothing is random on vectors, so each loss is a formula."""
    agent = make_agent("drqv2", std_start=0.0, std_end=0.0, learning_rate=1e-12)
    batch, nets = make_batch(), agent.networks
    with torch.no_grad():
        mean = torch.tanh(nets.actor(nets.encoder(batch.next_obs)))
        next_q = agent.target_critic(nets.encoder(batch.next_obs), mean).amin(0)
        target = batch.reward + batch.discount * next_q
        features = nets.encoder(batch.obs)
        q = nets.critic(features, batch.action)
        critic = ((q[0] - target) ** 2).mean() + ((q[1] - target) ** 2).mean()
        before_tanh = nets.actor(features)
        actor = -nets.critic(features, torch.tanh(before_tanh)).amin(0).mean()
    metrics = agent.update(batch, step=0)
    assert metrics["critic/loss"].item() == pytest.approx(critic.item(), rel=1e-5)
    assert metrics["critic/q"].item() == pytest.approx(q.mean().item(), rel=1e-5)
    assert metrics["actor/loss"].item() == pytest.approx(actor.item(), rel=1e-5)


def test_drqv2_losses_by_hand_with_all_that_is_random(make_agent, make_batch):
    """Shifts of both pictures, clipped noise in target and policy, in mid-schedule."""
    schedule = {"std_start": 1.0, "std_end": 0.2, "std_steps": 100}
    agent = make_agent(
        "drqv2", pixels=True, noise_clip=0.3, shift_pad=2, learning_rate=1e-12, **schedule
    )
    batch, nets = make_batch(pixels=True), agent.networks
    rng = torch.Generator().manual_seed(0)  # the agent's

    def shifted(images):
        return shift_images(images, draw_shifts(len(images), 2, rng), 2)

    def noisy(mean):
        noise = (0.6 * torch.randn(mean.shape, generator=rng)).clamp(-0.3, 0.3)
        return (mean + noise).clamp(-1 + 1e-6, 1 - 1e-6)

    with torch.no_grad():
        features = nets.encoder(shifted(batch.obs))
        following = nets.encoder(shifted(batch.next_obs))
        action = noisy(torch.tanh(nets.actor(following)))
        target = batch.reward + batch.discount * agent.target_critic(following, action).amin(0)
        q = nets.critic(features, batch.action)
        critic = ((q[0] - target) ** 2).mean() + ((q[1] - target) ** 2).mean()
        action = noisy(torch.tanh(nets.actor(features)))
        actor = -nets.critic(features, action).amin(0).mean()
    metrics = agent.update(batch, step=50)
    assert metrics["critic/loss"].item() == pytest.approx(critic.item(), rel=1e-5)
    assert metrics["actor/loss"].item() == pytest.approx(actor.item(), rel=1e-5)


def test_drqv2_saturation_penalty(make_agent, make_batch):
    plain, punished = (make_agent("drqv2", saturation_penalty=s) for s in (0.0, 0.5))
    first, second = (a.update(make_batch(), step=0) for a in (plain, punished))
    gap = second["actor/loss"] - first["actor/loss"]
    assert first["actor/saturation"] > 0
    assert gap.item() == pytest.approx(0.5 * first["actor/saturation"].item(), rel=1e-4)


def test_sac_losses_by_hand(make_agent, make_batch):
    agent = make_agent("sac", temperature=0.3, learn_temperature=False, learning_rate=1e-12)
    batch, nets = make_batch(), agent.networks
    rng = torch.Generator().manual_seed(0)  # the agent's
    with torch.no_grad():
        following = nets.encoder(batch.next_obs)
        mean, log_std = nets.actor(following)
        noise = torch.randn(mean.shape, generator=rng)
        action, log_prob = squashed_normal_sample(mean, log_std, noise)
        value = agent.target_critic(following, action).amin(0) - 0.3 * log_prob
        target = batch.reward + batch.discount * value
        features = nets.encoder(batch.obs)
        q = nets.critic(features, batch.action)
        critic = ((q[0] - target) ** 2).mean() + ((q[1] - target) ** 2).mean()
        mean, log_std = nets.actor(features)
        noise = torch.randn(mean.shape, generator=rng)
        action, log_prob = squashed_normal_sample(mean, log_std, noise)
        actor = (0.3 * log_prob - nets.critic(features, action).amin(0)).mean()
    metrics = agent.update(batch, step=0)
    assert metrics["critic/loss"].item() == pytest.approx(critic.item(), rel=1e-5)
    assert metrics["actor/loss"].item() == pytest.approx(actor.item(), rel=1e-5)
    assert metrics["actor/entropy"].item() == pytest.approx(-log_prob.mean().item(), rel=1e-5)
    assert metrics["actor/temperature"].item() == pytest.approx(0.3)


@pytest.mark.parametrize(("entropy", "direction"), [(3.0, -1), (-5.0, 1)])
def test_the_temperature_steers_entropy_to_minus_the_action_size(make_agent, entropy, direction):
    agent = make_agent("sac")
    before = agent.temperature.item()
    agent._update_temperature(torch.tensor(entropy), action_size=2)
    assert (agent.temperature.item() - before) * direction > 0


def test_the_loss_of_the_temperature_by_hand(make_agent):
    """L = α·(H + dim a), so dL/d(log α) = α·(H + dim a), of which the first moment is a tenth."""
    agent = make_agent("sac", temperature=0.3)
    agent._update_temperature(torch.tensor(3.0), action_size=2)
    (mean,) = agent.optimisers["temperature"].means
    assert mean.item() == pytest.approx(0.1 * 0.3 * (3.0 + 2))


def test_a_fixed_temperature_stays(make_agent, make_batch):
    agent = make_agent("sac", learn_temperature=False, temperature=0.05)
    for step in range(3):
        agent.update(make_batch(), step=step)
    assert agent.temperature.item() == pytest.approx(0.05)
    assert agent.optimisers["temperature"] is None


@any_agent
def test_updates_repeat_for_a_seed(agent, pixels, make_agent, make_batch, weights):
    def run(seed):
        learner = make_agent(agent, pixels=pixels, seed=seed)
        for step in range(3):
            learner.update(make_batch(pixels=pixels), step=step)
        return weights(*learner.networks.parts.values())

    assert torch.equal(run(0), run(0))
    assert not torch.equal(run(0), run(1))


@pytest.mark.longer
@pytest.mark.parametrize(
    ("model", "layers", "size"),
    [("approx", "group", 37), ("approx", "steerable", 37), ("rpp", "group", 37), ("sit", None, 37)],
)
def test_updates_repeat_on_two_threads(model, layers, size, make_agent, make_batch, weights):
    network = {"model": model, "channels": 16} | ({"layers": layers} if layers else {})

    def run():
        learner = make_agent("drqv2", pixels=True, size=size, network=network)
        for step in range(2):
            learner.update(make_batch(64, pixels=True, size=size), step=step)
        return weights(*learner.networks.parts.values())

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert torch.equal(run(), run())
    finally:
        torch.set_num_threads(before)


@any_agent
def test_a_saved_agent_goes_on_bit_for_bit(agent, pixels, make_agent, make_batch, weights):
    first = make_agent(agent, pixels=pixels)
    batches = [make_batch(pixels=pixels, seed=s) for s in range(4)]
    first.update(batches[0], step=0)
    saved = torch.utils._pytree.tree_map(
        lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, first.state_dict()
    )
    second = make_agent(agent, pixels=pixels, seed=7)
    second.load_state_dict(saved)
    for step, batch in enumerate(batches[1:]):
        for learner in (first, second):
            learner.update(batch, step=step)
    for learner in (first, second):
        assert torch.equal(
            weights(first.target_critic, *first.networks.parts.values()),
            weights(learner.target_critic, *learner.networks.parts.values()),
        )
    obs = batches[0].obs[0].numpy()
    assert (first.act(obs, step=10**6) == second.act(obs, step=10**6)).all()


@any_agent
def test_actions_lie_in_the_box_and_explore(agent, pixels, make_agent, make_batch):
    learner = make_agent(agent, pixels=pixels, random_steps=10)
    obs = make_batch(pixels=pixels).obs.numpy()
    random = np.stack([learner.act(obs[0], step=0) for _ in range(200)])
    later = np.stack([learner.act(obs[0], step=10) for _ in range(200)])
    for actions in (random, later):
        assert actions.shape == (200, 2)
        assert actions.dtype == np.float32
        assert np.abs(actions).max() <= 1
        assert actions.std(axis=0).min() > 0.05
    assert random.min() < -0.9  # uniform reaches the corners
    assert random.max() > 0.9


@any_agent
def test_the_mean_policy_draws_nothing(agent, pixels, make_agent, make_batch):
    learner = make_agent(agent, pixels=pixels)
    obs = make_batch(pixels=pixels).obs.numpy()
    state = learner.generator.get_state()
    actions = learner.policy(obs)
    assert actions.shape == (8, 2)
    assert np.array_equal(actions, learner.policy(obs))
    assert torch.equal(state, learner.generator.get_state())
    assert not np.array_equal(actions, learner.policy(obs, sample=True))


def test_vectors_are_not_augmented_and_images_are(make_agent, make_batch):
    learner = make_agent("drqv2", pixels=True)
    vectors, images = make_batch().obs, make_batch(pixels=True).obs
    assert learner._shifted(vectors) is vectors
    assert not torch.equal(learner._shifted(images), images)


def test_drqv2_noise_falls_along_its_schedule(make_agent):
    learner = make_agent("drqv2", std_start=1.0, std_end=0.2, std_steps=100)
    assert [learner.std(s) for s in (0, 50, 1000)] == pytest.approx([1.0, 0.6, 0.2])


@pytest.mark.parametrize("agent", ["drqv2", "sac"])
@pytest.mark.parametrize(
    ("network", "off"),
    [
        (
            {"model": "rpp", "rpp_actor": (0.1, 0.2), "rpp_critic": (0.3, 0.4)},
            {"rpp_actor": (0, 0), "rpp_critic": (0, 0)},
        ),
        ({"model": "approx", "spread_strength": 0.5}, {"spread_strength": 0.0}),
    ],
    ids=["rpp", "spread"],
)
def test_penalties_join_the_losses(agent, network, off, make_agent, make_batch):
    def ready(options):
        learner = make_agent(agent, network=options, learning_rate=1e-12)
        for weights in (
            relaxed_weights(learner.networks.critic),
            relaxed_weights(learner.networks.actor),
        ):
            for weight in weights.values():
                weight[..., 0] += 0.5  # detached, but the same memory: a spread to punish
        return learner

    learner, without = ready(network), ready(network | off)
    penalties = {
        "critic/loss": learner.networks.critic_penalty().item(),
        "actor/loss": learner.networks.actor_penalty().item(),
    }
    first, second = (a.update(make_batch(), step=0) for a in (learner, without))
    for name, penalty in penalties.items():
        assert penalty > 0.01
        assert (first[name] - second[name]).item() == pytest.approx(penalty, rel=1e-3), name


@pytest.mark.parametrize("config", [DrQV2Config, SACConfig])
@pytest.mark.parametrize("tau", [0.0, 1.5, -0.1])
def test_configs_refuse_a_wrong_tau(config, tau):
    with pytest.raises(ValueError, match=r"`target_tau` must lie in \(0, 1\], got"):
        config(target_tau=tau)


def test_drqv2_refuses_a_schedule_without_length():
    with pytest.raises(ValueError, match="`std_steps` must be at least 1, got 0"):
        DrQV2Config(std_steps=0)
    with pytest.raises(ValueError, match="`rate_steps` must be at least 1, got 0"):
        DrQV2Config(rate_steps=0)


def test_sac_refuses_a_temperature_without_logarithm():
    with pytest.raises(ValueError, match="`temperature` must be positive, got 0"):
        SACConfig(temperature=0)


@pytest.mark.parametrize("agent", ["drqv2", "sac"])
def test_mirrored_views_and_read_only_arrays_are_observations_too(agent, make_agent):
    made, obs = make_agent(agent, random_steps=0), np.float32([[1, 2], [3, 4]])
    expected = made.policy(np.ascontiguousarray(obs[:, ::-1]))
    assert np.array_equal(made.policy(obs[:, ::-1]), expected)
    frozen = obs[0, ::-1].copy()
    frozen.flags.writeable = False
    with warnings.catch_warnings(action="error"):
        assert made.act(frozen, step=1).shape == made.act(obs[0, ::-1], step=1).shape == (2,)


def test_an_evaluation_does_not_use_the_compiled_encoder(make_agent, unchecked):
    """Its batches shrink as episodes end, and torch makes eight programs at most."""
    agent, made = make_agent(pixels=True), []
    agent.networks.encoder.compile(dynamic=False, backend=lambda graph, _: made.append(1) or graph)
    agent.policy(np.zeros((3, 37, 37, 3), np.uint8))
    assert not made
