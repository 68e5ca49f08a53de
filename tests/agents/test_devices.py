"""Agents on any device: the same code on a processor and, where there is one, on a GPU, which
nobody waits for in an update."""

import pytest
import torch

from nearsym.agents.augment import copy_by_index, draw_shifts, shift_images
from nearsym.agents.base import Compute
from nearsym.agents.batch import Batch
from nearsym.layers.constant import sent
from nearsym.networks.moves import all_at_once, one_by_one
from nearsym.runs.build import build_agent
from nearsym.runs.configure import configure

HAS_GPU = torch.cuda.is_available()
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not HAS_GPU, reason="no GPU"))]
MODELS = {"model": ["approx", "exact", "augment", "mirror"], "agent": ["sac", "drqv2"]}


def made(device, obs, model, agent):
    """An agent for the craft, and a batch in the memory of the processor."""
    config = configure(
        "craft",
        preset="smoke",
        obs=obs,
        model=model,
        agent=agent,
        device=device,
        precision="fp32",
        network={"hidden": 8, "channels": 4},
    )
    env = config.task.make()
    shape, count = env.observation_space.shape, 8
    rng = torch.Generator().manual_seed(0)
    if obs == "pixels":
        seen = torch.randint(0, 256, (2, count, *shape), dtype=torch.uint8, generator=rng)
    else:
        seen = torch.randn(2, count, *shape, generator=rng)
    action = 2 * torch.rand(count, *env.action_space.shape, generator=rng) - 1
    batch = Batch(seen[0], action, torch.ones(count), torch.full((count,), 0.9), seen[1])
    return build_agent(config, env), batch


CASES = [("state", model, agent) for model in MODELS["model"] for agent in MODELS["agent"]]
CASES += [("pixels", "approx", "drqv2"), ("pixels", "augment", "drqv2")]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("obs", "model", "agent"), CASES)
def test_an_update_happens_where_the_agent_is(device, obs, model, agent):
    learner, batch = made(device, obs, model, agent)
    metrics = learner.update(batch, step=100)
    assert {value.device.type for value in metrics.values()} == {device}
    weights = [w for part in learner.networks.parts.values() for w in part.parameters()]
    assert {weight.device.type for weight in weights} == {device}
    assert all(bool(weight.isfinite().all()) for weight in weights)
    assert learner.policy(batch.obs.numpy()).shape == tuple(batch.action.shape)


@pytest.mark.skipif(not HAS_GPU, reason="no GPU")
@pytest.mark.parametrize(("obs", "model", "agent"), CASES)
def test_an_update_never_waits_for_a_gpu(obs, model, agent):
    learner, batch = made("cuda", obs, model, agent)
    learner.update(batch, step=100)  # the first one may have to look for algorithms
    torch.cuda.set_sync_debug_mode("error")
    try:
        learner.update(batch, step=101)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("device", DEVICES)
def test_shifts_copy_the_same_bytes_on_every_device(device):
    images = torch.randint(0, 256, (6, 13, 11, 3), dtype=torch.uint8)
    shifts = draw_shifts(6, 4, torch.Generator().manual_seed(0))
    found = shift_images(images.to(device), shifts.to(device), 4)
    assert found.device.type == device
    assert torch.equal(found.cpu(), copy_by_index(images, shifts - 4))


@pytest.mark.parametrize("device", DEVICES)
def test_samples_are_moved_alike_on_every_device(device):
    learner, batch = made("cpu", "pixels", "augment", "drqv2")
    moves = learner.networks.moves
    elements = moves.draw(len(batch.obs), torch.Generator().manual_seed(1))
    found = moves.observations(batch.obs.to(device), elements.to(device))
    assert found.device.type == device
    action = moves.symmetry.observation
    assert torch.equal(found.cpu(), one_by_one(action, batch.obs, elements))
    assert torch.equal(found.cpu(), all_at_once(action, batch.obs, elements))


class Field:
    """Stands in for a tensor in the memory of a processor, and writes down what is asked of it."""

    def __init__(self):
        self.device, self.asked = torch.device("cpu"), []

    def pin_memory(self):
        self.asked.append("pinned")
        return self

    def to(self, device, non_blocking=False):
        self.asked.append((device.type, non_blocking))
        return self


@pytest.mark.parametrize(
    ("device", "asked"),
    [("cuda", ["pinned", ("cuda", True)]), ("cpu", [("cpu", False)])],
)
def test_batches_go_to_a_gpu_from_pinned_memory(device, asked, unchecked):
    batch = Compute(torch.device(device), bfloat16=False).here(Batch(*(Field() for _ in range(5))))
    assert [field.asked for field in batch] == 5 * [asked]


def test_what_is_there_already_is_not_pinned(unchecked):
    field = Field()
    field.device = torch.device("cuda")
    sent(field, torch.device("cuda"))
    assert field.asked == [("cuda", False)]
