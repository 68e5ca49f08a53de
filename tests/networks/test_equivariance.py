"""Whole networks, in float64, for the symmetry that every control task declares."""

from functools import cache

import pytest
import torch

import nearsym
from nearsym.agents.base import Compute
from nearsym.agents.batch import Batch
from nearsym.agents.drqv2 import DrQV2, DrQV2Config
from nearsym.agents.losses import squashed_normal_log_prob
from nearsym.agents.sac import SAC, SACConfig
from nearsym.groups.action import Invariant
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.relaxation import relaxed_weights
from nearsym.networks.actor_critic import ActorCritic
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

TASKS = ("acrobot-swingup", "cartpole-swingup", "ball_in_cup-catch", "reacher-hard")
SIZE = 53  # a map of 3×3 is left at the end: positions have to be undone too
ROUNDING = 1e-10
VISIBLE = 1e-3
FORMS = {
    "pixels": ("pixels", "group", "drqv2"),
    "steerable": ("pixels", "steerable", "drqv2"),
    "state": ("state", "group", "drqv2"),
    "state, sac": ("state", "group", "sac"),
}


@cache
def declared(task: str, obs: str) -> Symmetry:
    env = nearsym.make(task, obs=obs, size=SIZE)
    symmetry = env.unwrapped.symmetry
    env.close()
    return symmetry


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


@pytest.fixture(params=list(FORMS))
def form(request):
    return FORMS[request.param]


class Sample:
    """Networks of one model for one task, and a batch of what they read."""

    def __init__(self, task, form, model, *, size=SIZE, **options):
        obs, layers, self.agent = form
        self.symmetry = declared(task, obs)
        self.pixels = obs == "pixels"
        self.shape = (size, size, 9) if self.pixels else (self.symmetry.observation.size,)
        sizes = {"channels": 6, "hidden": 32, "waist": 12}
        config = NetworkConfig(model=model, layers=layers, **sizes, **options)
        self.networks = build_actor_critic(self.symmetry, self.shape, self.agent, config)
        for part in self.networks.parts.values():
            part.double()
        self.obs = self.draw(5)
        self.action = 2 * torch.rand(5, self.symmetry.action.size, dtype=torch.float64) - 1

    def draw(self, count: int) -> torch.Tensor:
        if self.pixels:
            return torch.randint(0, 256, (count, *self.shape), dtype=torch.uint8)
        return torch.randn(count, *self.shape, dtype=torch.float64)

    def errors(self) -> dict[str, float]:
        """The largest error over all elements of actor, critic and, for SAC, log π."""
        sym, invariant = self.symmetry, Invariant(self.symmetry.group)
        joint = (sym.observation, sym.action)
        found = {
            "actor": largest(self.mean, self.obs, sym.observation, sym.action),
            "critic": largest(self.value, (self.obs, self.action), joint, invariant),
        }
        if isinstance(self.outputs(self.obs), tuple):
            points = (self.obs, 0.9 * self.action)
            found["log π"] = largest(self.log_prob, points, joint, invariant)
        return found

    def outputs(self, obs):
        return self.networks.actor(self.networks.encoder(obs))

    def mean(self, obs):
        out = self.outputs(obs)
        return torch.tanh(out[0] if isinstance(out, tuple) else out)

    def value(self, obs, action):
        return self.networks.critic(self.networks.encoder(obs), action).T

    def log_prob(self, obs, action):
        return squashed_normal_log_prob(*self.outputs(obs), action)

    def batch(self, count: int) -> Batch:
        size = self.symmetry.action.size
        real = {"dtype": torch.float64}
        return Batch(
            obs=self.draw(count),
            action=2 * torch.rand(count, size, **real) - 1,
            reward=torch.randn(count, **real),
            discount=torch.full((count,), 0.97, **real),
            next_obs=self.draw(count),
        )

    def train(self, steps: int) -> None:
        compute = Compute(torch.device("cpu"), bfloat16=False)
        generator = torch.Generator().manual_seed(0)
        options = {"compute": compute, "generator": generator}
        if self.agent == "sac":
            learner = SAC(self.networks, SACConfig(learning_rate=1e-2), **options)
        else:
            learner = DrQV2(self.networks, DrQV2Config(learning_rate=1e-2), **options)
        for step in range(steps):
            learner.update(self.batch(8), step=step)


def largest(f, x, act_in, act_out) -> float:
    return max(nearsym.equivariance_error(f, x, act_in, act_out).values())


@pytest.mark.parametrize("model", ["exact", "approx"])
def test_fresh_networks_are_equivariant(task, form, model):
    sample = Sample(task, form, model)
    assert sample.outputs(sample.obs) is not None
    for part, error in sample.errors().items():
        assert error < ROUNDING, part
    assert sample.mean(sample.obs).abs().max() > 1e-4  # not equivariant because it is 0


@pytest.mark.parametrize("size", [51, 85])
@pytest.mark.parametrize("kind", ["pixels", "steerable"])
def test_the_presets_sizes_are_exact(size, kind):
    sample = Sample("reacher-hard", FORMS[kind], "approx", size=size)
    assert max(sample.errors().values()) < ROUNDING


@pytest.mark.parametrize("options", [{"filters": 3}, {"relax": "output"}], ids=str)
def test_several_filters_and_output_weights_start_equivariant(form, options):
    sample = Sample("reacher-hard", form, "approx", **options)
    assert max(sample.errors().values()) < ROUNDING


def test_exact_stays_equivariant_in_training(task, form):
    sample = Sample(task, form, "exact")
    before = sample.mean(sample.obs).detach()
    sample.train(4)
    assert (sample.mean(sample.obs) - before).abs().max() > VISIBLE  # it has learned something
    for part, error in sample.errors().items():
        assert error < ROUNDING, part


def test_approx_leaves_equivariance_in_training(task, form):
    sample = Sample(task, form, "approx")
    sample.train(4)
    errors = sample.errors()
    assert min(errors.values()) > VISIBLE, errors


def test_none_is_not_equivariant(task, form):
    errors = Sample(task, form, "none").errors()
    assert min(errors.values()) > 10 * VISIBLE, errors


def test_the_equivariant_readout_of_sit_stays_equivariant_in_training(task):
    sample = Sample(task, FORMS["pixels"], "sit", sit_readout="equivariant")
    assert max(sample.errors().values()) < ROUNDING
    before = sample.mean(sample.obs).detach()
    sample.train(2)
    assert (sample.mean(sample.obs) - before).abs().max() > VISIBLE
    assert max(sample.errors().values()) < ROUNDING


@pytest.mark.parametrize("size", [51, 64, 85])
def test_the_equivariant_readout_of_sit_is_exact_at_every_size(size):
    options = {"sit_readout": "equivariant", "size": size}
    sample = Sample("reacher-hard", FORMS["pixels"], "sit", **options)
    assert max(sample.errors().values()) < ROUNDING


def test_sit_as_it_is_by_default_is_not_equivariant(task):
    errors = Sample(task, FORMS["pixels"], "sit").errors()
    assert min(errors.values()) > VISIBLE, errors


@pytest.mark.parametrize("task", ["ball_in_cup-catch", "reacher-hard"])
def test_each_relaxed_weight_alone_breaks_equivariance(task, form):
    sample = Sample(task, form, "approx")
    names = [
        (part, name)
        for part, network in sample.networks.parts.items()
        for name in relaxed_weights(network)
    ]
    assert {part for part, _ in names} >= {"actor", "critic"}
    assert ("encoder" in {part for part, _ in names}) == sample.pixels
    for part, name in names:
        weight = relaxed_weights(sample.networks.parts[part])[name]
        weight[..., -1] += 3.0  # detached, but the same memory
        errors = sample.errors()
        seen = {"encoder": max(errors.values()), "critic": errors["critic"]}
        policy = max(errors["actor"], errors.get("log π", 0.0))
        assert seen.get(part, policy) > VISIBLE, (part, name)
        weight[..., -1] -= 3.0
        assert max(sample.errors().values()) < ROUNDING


def test_rpp_starts_nearly_equivariant(task, form):
    sample = Sample(task, form, "rpp")
    errors = sample.errors()
    assert max(errors.values()) < 0.02, errors
    assert min(errors.values()) > 1e-5, errors  # the free paths are there


def test_a_representation_with_irrational_entries_keeps_float64():
    from nearsym.groups.catalog import cyclic
    from nearsym.groups.representation import plane_of, trivial_of

    group = cyclic(3)
    symmetry = Symmetry(2 * plane_of(group) + trivial_of(group), 2 * trivial_of(group))
    sizes = {"hidden": 32, "waist": None}
    networks: ActorCritic = build_actor_critic(
        symmetry, (5,), "sac", NetworkConfig(model="exact", **sizes)
    )
    for part in networks.parts.values():
        part.double()

    def mean(obs):
        return networks.actor(networks.encoder(obs))[0]

    obs = torch.randn(6, 5, dtype=torch.float64)
    assert largest(mean, obs, symmetry.observation, symmetry.action) < ROUNDING
