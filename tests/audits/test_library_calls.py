"""`audit` and `audit_agent_in`: what they choose, what they return, what they show."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch

import nearsym.audits
from nearsym.audits import (
    EnvironmentAudit,
    MirrorPendulum,
    RolloutAudit,
    audit,
    audit_agent_in,
    audit_environment,
    audit_rollouts,
)
from nearsym.audits.policies import acting_in
from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.groups.declared import Declared
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.networks.policy import MeanPolicy


@pytest.fixture
def closed():
    """A pendulum whose states cannot be set."""
    return gym.make("Pendulum-v1"), MirrorPendulum.symmetry


def test_pairs_where_they_can_be_had_and_rollouts_where_not(closed):
    env, symmetry = closed
    paired = audit(MirrorPendulum(), samples=100, seed=4)
    assert isinstance(paired, EnvironmentAudit)
    direct = audit_environment(MirrorPendulum(), samples=100, seed=4)
    assert paired.as_json() == direct.as_json()
    rolled = audit(env, symmetry=symmetry, samples=100)
    assert isinstance(rolled, RolloutAudit)
    assert rolled.verdict is None
    assert rolled.reason.startswith("No verdict: the environment has no get_state, set_state or")


def test_epsilon_decides_what_is_strong():
    found = [audit(MirrorPendulum(wind=0.5), samples=100, epsilon=e) for e in (0.5, 0.001)]
    assert [audit.verdict for audit in found] == ["approximate", "partial"]


def test_a_policy_acts_in_half_of_the_episodes(closed):
    env, symmetry = closed
    asked = []

    def policy(obs):
        asked.append(obs)
        return np.array([2.0], np.float32)

    audit(env, symmetry=symmetry, samples=100, policy=policy)
    assert len(asked) == 10 * 200
    asked.clear()
    audit(MirrorPendulum(), samples=100, policy=policy)
    assert 0.1 < len(asked) / (20 * 200) < 0.9


def test_a_policy_sees_and_does_what_its_own_layer_shows_and_takes(linear_world):
    world = linear_world()
    world.action_space = gym.spaces.Box(-4.0, 2.0, (2,), np.float32)
    seen = gym.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    env = gym.wrappers.TransformObservation(world, lambda x: x.astype(np.float32), seen)
    env = gym.wrappers.RescaleAction(env, np.float32(-1), np.float32(1))
    types = []

    def policy(obs):
        types.append(obs.dtype)
        return np.array([1.0, -1.0], np.float32)

    act = acting_in(env, policy)(world, np.random.default_rng(0))
    assert act(np.zeros(4)) == pytest.approx(np.array([2.0, -4.0]))
    assert types == [np.float32]


def test_a_policy_outside_a_stack_of_frames_is_refused():
    env = gym.wrappers.FrameStackObservation(MirrorPendulum(), 3)
    with pytest.raises(UsageError, match="acts outside the wrapper FrameStackObservation, and the"):
        audit(env, samples=100, policy=lambda obs: np.zeros(1))
    assert audit(env, samples=100).verdict == "exact"


def test_silent_by_default_a_bar_if_asked_or_a_function(capfd, monkeypatch):
    quick = {"samples": 100, "longest": 5}
    silent = audit_environment(MirrorPendulum(), **quick)
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
    asked = []
    monkeypatch.setattr(
        "nearsym.audits.progress.over", lambda items, what: (asked.append(what), items)[1]
    )
    barred = audit_environment(MirrorPendulum(), progress=True, **quick)
    assert asked == ["episodes"]
    counted = []

    def count(episodes):
        for episode in episodes:
            counted.append(episode)
            yield episode

    told = audit_environment(MirrorPendulum(), progress=count, **quick)
    assert counted == list(range(20))
    assert silent.as_json() == barred.as_json() == told.as_json()


def test_with_a_transform_an_array_state_is_enough(tmp_path):
    moves = dihedral(1).diagonal({"mirror_x": [-1, -1]})
    env = Declared(
        gym.make("Pendulum-v1"),
        MirrorPendulum.symmetry,
        lambda g, state: {"state": moves.act(g, state["state"])},
    )
    assert audit(env, samples=100).verdict == "exact"


class Chasing(gym.Env):
    """`state` is not all there is: a target is drawn at every reset."""

    observation_space = gym.spaces.Box(-9, 9, (2,), np.float64)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    symmetry = Symmetry(2 * dihedral(1).sign(), dihedral(1).sign())

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.target, self.left = np.zeros(1), self.np_random.uniform(-1, 1), 20
        return np.append(self.state, self.target), {}

    def step(self, action):
        self.state, self.left = self.state + 0.1 * action, self.left - 1
        far = abs(float(self.state[0]) - self.target)
        return np.append(self.state, self.target), -far, False, self.left == 0, {}

    def transform(self, g, state):
        return {"state": -state["state"] if g else state["state"]}


def test_an_array_state_that_is_not_all_gives_no_verdict():
    assert audit(Chasing(), samples=100).missing == ["get_state", "set_state"]


class Elsewhere(Chasing):
    def transform(self, g, state):
        return {"x": -state["x"] if g else state["x"]}


def test_a_transform_of_other_arrays_gives_no_verdict():
    assert audit(Elsewhere(), samples=100).verdict is None


def test_shown_as_a_table():
    table = str(audit_environment(MirrorPendulum(wind=0.2), samples=100, longest=5))
    assert table.startswith("D1: 100 pairs of steps from 20 episodes, deterministic\n")
    assert "Verdict: approximate. Broken mildly" in table
    assert "mirror_x: everywhere  (100.0%)" in table
    rolled = audit_rollouts(MirrorPendulum(), samples=100)
    assert repr(rolled).startswith("100 steps from 20 episodes\nNo verdict: states were not set")
    assert "floor" in repr(rolled)


def test_plots(closed, tmp_path):
    found = audit_environment(MirrorPendulum(wind=0.2), samples=100, longest=5)
    found.plot(tmp_path / "untitled.png")
    found.plot(str(tmp_path / "titled.svg"), title="wind")
    assert (tmp_path / "untitled.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "titled.svg").read_text(encoding="utf-8")
    with pytest.raises(UsageError, match=r"\.png, \.pdf or \.svg file, got 'a\.doc'"):
        found.plot(tmp_path / "a.doc")
    env, symmetry = closed
    with pytest.raises(UsageError, match=r"There is nothing to plot\. No verdict: the environment"):
        audit(env, symmetry=symmetry, samples=100).plot(tmp_path / "a.png")


@pytest.fixture
def agent():
    small = NetworkConfig(model="approx", channels=8, hidden=16, waist=8)
    networks = build_actor_critic(MirrorPendulum.symmetry, (3,), "sac", small)
    mean = MeanPolicy(networks)

    def policy(obs):
        with torch.no_grad():
            return 2 * mean(torch.as_tensor(obs, dtype=torch.float32)[None])[0].numpy()

    return networks, policy


@pytest.mark.longer
def test_an_agent_in_its_world(agent, tmp_path):
    env = MirrorPendulum(wind=0.2)
    found = audit_agent_in(env, *agent, discount=0.9, samples=100)
    assert found.verdict == "approximate"
    assert found.reason == found.world.reason
    plain = found.as_json()
    assert list(plain)[:2] == ["verdict", "reason"]
    assert list(plain)[-5:] == ["floors", "relaxed", "left", "q_gap", "alpha"]
    (element,) = plain["elements"]
    assert {"eps_r", "eps_p", "regions", "policy", "critic", "layers"} <= element.keys()
    alpha = plain["alpha"]
    assert alpha["eps_p"] == element["eps_p"]["largest"]
    assert alpha["value"] == pytest.approx(
        (alpha["eps_r"] + 0.9 * alpha["lipschitz"] * alpha["eps_p"]) / 0.1
    )
    assert "critic slope" in str(found)
    found.plot(tmp_path / "where.png")
    again = audit_agent_in(MirrorPendulum(wind=0.2), *agent, discount=0.9, samples=100)
    assert again.as_json() == plain


def test_an_agent_where_states_cannot_be_set(agent, closed):
    env, symmetry = closed
    declared = Declared(env, symmetry)
    found = audit_agent_in(declared, *agent, discount=0.9, samples=100)
    assert found.verdict is None
    assert found.alpha is None
    assert found.elements[0]["floor_p"]["mean"] > 0
    assert "no α, which needs steps from s and g·s" in str(found)


@pytest.mark.longer
def test_networks_read_what_their_own_layer_shows(agent):
    pendulum = MirrorPendulum()
    doubled = gym.wrappers.TransformObservation(
        pendulum, lambda obs: 2 * obs.astype(np.float64), pendulum.observation_space
    )
    networks, policy = agent
    plain = audit_agent_in(pendulum, networks, lambda obs: policy(2 * obs), discount=0.9)
    wrapped = audit_agent_in(doubled, networks, policy, discount=0.9)
    assert wrapped.world.as_json() == plain.world.as_json()
    value = networks.critic(
        networks.encoder(torch.as_tensor(2 * plain.world.observations)),
        MeanPolicy(networks)(torch.as_tensor(2 * plain.world.observations)),
    )
    assert wrapped.agent.values == pytest.approx(value.amin(dim=0).detach().numpy(), abs=1e-5)


def test_public_names_come_without_torch():
    code = (
        "import sys, nearsym.audits as a\n"
        "assert 'scipy' not in sys.modules and 'torch' not in sys.modules\n"
        "from nearsym.audits import audit, audit_rollouts, Coordinates\n"
        "assert callable(a.audit) and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert {"audit", "audit_agent_in", "EnvironmentAudit"} <= set(nearsym.audits.__all__)
    assert all(getattr(nearsym.audits, name).__doc__ for name in nearsym.audits.__all__)
