"""What updates return is read when it is wanted, not while a GPU could be working."""

import math

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nearsym.agents.augment import copy_by_index
from nearsym.networks.moves import all_at_once
from nearsym.runs.build import build_agent, build_replay
from nearsym.runs.configure import configure
from nearsym.training.loop import DivergedError, LoopState, Trainer
from nearsym.training.update_metrics import AT_MOST, UpdateMetrics

WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero", "unique")
"""Operations for whose result the processor waits."""


class Waits(TorchDispatchMode):
    """Writes down every operation that would wait for a GPU."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        if name in WAITING:
            self.seen.append(name)
        return function(*args, **(kwargs or {}))


def bare_trainer(agent=None, replay=None):
    """A trainer that can only collect."""
    trainer = Trainer.__new__(Trainer)
    trainer.agent, trainer.replay = agent, replay
    trainer.state, trainer._updates, trainer._shown = LoopState(), UpdateMetrics(), {}
    return trainer


def test_collecting_reads_nothing():
    trainer = bare_trainer()
    with Waits() as waits:
        for _ in range(AT_MOST - 1):
            trainer._collect({"a": torch.tensor(1.0), "b": torch.tensor(2.0)})
    assert waits.seen == []
    assert trainer.state.count == 0
    trainer._collect({"a": torch.tensor(1.0), "b": torch.tensor(2.0)})
    assert trainer.state.count == AT_MOST  # they do not grow without end
    assert trainer.state.sums == {"a": AT_MOST, "b": 2 * AT_MOST}


@pytest.mark.parametrize(
    ("agent", "obs", "model"),
    [
        ("sac", "state", "approx"),
        ("sac", "state", "mirror"),
        ("drqv2", "state", "augment"),
        ("drqv2", "pixels", "approx"),
        ("drqv2", "pixels", "mirror"),
    ],
)
def test_an_update_waits_for_nothing(agent, obs, model, unchecked, monkeypatch):
    """On the ways that an accelerator takes."""
    monkeypatch.setattr("nearsym.agents.augment.copy_rows", copy_by_index)
    monkeypatch.setattr("nearsym.networks.moves.one_by_one", all_at_once)
    sizes = {"hidden": 8, "channels": 4}
    config = configure("craft", preset="smoke", agent=agent, obs=obs, model=model, network=sizes)
    env = config.task.make()
    replay, made = build_replay(config, env, None), build_agent(config, env)
    seen, _ = env.reset(seed=0)
    replay.start(seen)
    for _ in range(20):
        replay.add(np.zeros(2), 0.5, 1.0, env.step(np.zeros(2))[0])
    trainer = bare_trainer(made, replay)
    batch = replay.sample(8, np.random.default_rng(0))
    with Waits() as waits:
        trainer._collect(made.update(batch, step=100))
    assert waits.seen == []


def test_the_sums_are_those_of_numbers_read_at_once():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=300).astype(np.float32)
    trainer, total = bare_trainer(), 0.0
    for number in numbers:
        trainer._collect({"loss": torch.tensor(number)})
        total += float(number)
    trainer._read_updates()
    assert trainer.state.sums["loss"] == total  # to the last bit
    assert trainer.state.count == 300


def test_the_first_bad_number_is_named_with_its_frame():
    trainer = bare_trainer()
    for frames, number in ((2, 1.0), (4, math.inf), (6, math.nan)):
        trainer.state.frames = frames
        trainer._collect({"a": torch.tensor(0.0), "loss": torch.tensor(number)})
    with pytest.raises(DivergedError, match="loss is not finite at frame 4"):
        trainer._read_updates()


def test_a_bad_action_is_the_fault_of_the_loss_before_it():
    trainer = bare_trainer()
    trainer.state.frames = 8
    trainer._collect({"loss": torch.tensor(math.nan)})
    trainer.state.frames = 10
    with pytest.raises(DivergedError, match="loss is not finite at frame 8"):
        trainer._check("action", np.array([math.nan]))


def test_what_is_kept_is_a_copy():
    kept, alive = UpdateMetrics(), torch.tensor(1.0)
    kept.add(1, {"a": alive})
    alive += 5
    assert next(kept.take()) == (1, {"a": 1.0})


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_metrics_stay_on_the_device():
    kept = UpdateMetrics()
    kept.add(1, {"a": torch.tensor(1.0, device="cuda")})
    assert kept._rows[0].values.device.type == "cuda"
