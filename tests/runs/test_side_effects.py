"""Library calls change nothing in the process: no output, no settings, no files but the run's."""

import os
import random
import signal
import sys
import threading
import warnings
from importlib import import_module

import gymnasium
import numpy as np
import pytest
import torch

import nearsym
from nearsym.errors import RunError, UsageError

SHORT = {"frames": 80, "seed_frames": 30, "eval_every": 40, "checkpoint_every": 40}


def surroundings():
    """What a call could have changed."""
    return {
        "threads": torch.get_num_threads(),
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "torch": torch.get_rng_state().tolist(),
        "numpy": np.random.get_state()[1].tolist(),  # noqa: NPY002 (to see that nobody uses it)
        "random": random.getstate(),
        "signals": [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)],
        "environ": {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"},
        "folder": os.getcwd(),
        "path": list(sys.path),
        "filters": list(warnings.filters),
        "warn": warnings.showwarning,
        "hook": sys.excepthook,
        "ids": set(gymnasium.registry),
        "threads alive": threading.active_count(),
    }


@pytest.fixture(scope="module")
def _imported(tmp_path_factory):
    """What libraries do to the process when they are first imported is theirs."""
    toys = import_module("toys")
    train(toys.counted, tmp_path_factory.mktemp("runs") / "run").plot()
    nearsym.make("cartpole-swingup", obs="pixels").close()
    import_module("skfolio.optimization")


@pytest.fixture
def unchanged(tmp_path, monkeypatch, capfd, toys, _imported):
    """Calls that happen in an empty folder and leave everything as it was."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    there = surroundings()
    capfd.readouterr()
    yield tmp_path
    out, err = capfd.readouterr()
    now = surroundings()
    torch.set_num_threads(before)
    assert (out, err) == ("", "")
    assert now == there


def train(task, out, **options):
    options = {"preset": "smoke", "threads": 1, "training": SHORT} | options
    return nearsym.train(task, out=out, **options)


def test_training_and_asking(unchanged, toys):
    run = train(toys.counted, unchanged / "run")
    assert torch.get_num_threads() == 2
    run.evaluate(2)
    run.evaluate(2, sample=True)
    run.policy(np.zeros(2))
    run.resume(120)
    run.curve()
    run.plot()
    assert [path.name for path in unchanged.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("cartpole-swingup", {"obs": "state", "frames": 480}),
        ("cartpole-swingup", {"obs": "pixels", "frames": 480}),
        ("trading", {}),
    ],
)
def test_the_tasks_of_nearsym(task, options, unchanged):
    training = {"seed_frames": 240 if task != "trading" else 30, "eval_every": 1000}
    run = train(task, unchanged / "run", training=training, **({"frames": 80} | options))
    run.evaluate(1)
    assert [path.name for path in unchanged.iterdir()] == ["run"]


def test_more_threads_than_the_process_has(unchanged, toys):
    run = train(toys.counted, unchanged / "run", threads=3)
    assert run.config.threads == 3
    assert torch.get_num_threads() == 2


def test_as_many_threads_as_the_process_has(unchanged, toys):
    assert train(toys.counted, unchanged / "run", threads=None).config.threads == 2


@pytest.mark.parametrize("name", ["bad_reward", "discrete", "needs_argument"])
def test_what_fails_in_training(name, unchanged, toys):
    with pytest.raises((RunError, UsageError)):
        train(getattr(toys, name), unchanged / "run")
    assert torch.get_num_threads() == 2


def test_what_fails_in_an_evaluation(unchanged, toys):
    run = train(toys.counted, unchanged / "run")
    other = nearsym.Run(run.path, toys.bad_observation)
    with pytest.raises(RunError, match="not finite, in its observation"):
        other.evaluate(5)
    with pytest.raises(UsageError, match="Unknown checkpoint"):
        run.evaluate(5, checkpoint="bst")
    assert torch.get_num_threads() == 2


def test_what_fails_in_a_callback(unchanged, toys):
    class Failing(nearsym.Callback):
        def on_evaluation(self, progress, metrics):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        train(toys.counted, unchanged / "run", callbacks=[Failing()])


def test_a_bar_is_shown_to_whom_asks_for_it(toys, tmp_path, capfd):
    run = train(toys.counted, tmp_path / "run", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "80/80" in err
    run.evaluate(2, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "2/2" in err
    run.resume(120, progress=True)
    assert "120/120" in capfd.readouterr().err


def test_training_works_outside_the_main_thread(toys, tmp_path):
    found = []
    worker = threading.Thread(target=lambda: found.append(train(toys.counted, tmp_path / "run")))
    worker.start()
    worker.join()
    assert found[0].summary["frames"] == 80
