"""Runs of version 0.1 can still be opened, evaluated and asked.

The two folders of data were written by version 0.1: `nearsym train TASK --preset smoke --seed 1`
for cartpole-swingup with state observations and for Pendulum-v1. Their returns are those that its
`nearsym eval` gave.
"""

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import nearsym
from nearsym.errors import UsageError
from nearsym.runs.config import from_plain, to_plain
from nearsym.tasks.control.task import ControlTask
from nearsym.tasks.custom import CustomTask
from nearsym.tasks.trading.task import TradingTask

DATA = Path(__file__).parent / "data"
RETURNS = {
    "state": [
        0.0010434117208730016,
        0.0002469889785337416,
        0.00027994937683132015,
        0.0002393037547302262,
        0.0013205441155466767,
    ],
    "custom": [-1343.2962109849275, -1430.7913993201696, -1343.7967005241],
}


@pytest.fixture(params=RETURNS)
def kind(request):
    return request.param


@pytest.fixture
def folder(kind, tmp_path):
    return Path(shutil.copytree(DATA / f"run-0.1-{kind}", tmp_path / "run"))


def saved(kind):
    return json.loads((DATA / f"run-0.1-{kind}" / "config.json").read_text())["config"]


def test_its_configuration_is_one_of_today(kind, folder):
    config = nearsym.Run(folder).config
    assert type(config.task) is {"state": ControlTask, "custom": CustomTask}[kind]
    assert config.task.name == saved(kind)["task"]["name"]
    assert (config.seed, config.agent, config.preset) == (1, "sac", "smoke")
    plain = to_plain(config)
    for section in ("algorithm", "network", "training"):
        assert plain[section] | saved(kind)[section] == plain[section]  # newer ones have defaults
    assert from_plain(plain) == config


def test_its_returns_are_what_they_were(kind, folder):
    result = nearsym.Run(folder).evaluate(len(RETURNS[kind]))
    assert result["returns"] == pytest.approx(RETURNS[kind], rel=1e-3)


def test_its_results_can_be_read(kind, folder):
    run = nearsym.Run(folder)
    assert run.curve().frames.tolist() == [1000, 2000]
    assert run.curve().mean[-1] == pytest.approx(run.summary["final_return"])
    assert bool(run.relaxed_weights()) == (kind == "state")
    assert run.plot() is not None


def test_its_policy_acts_in_the_units_of_the_environment(kind, folder):
    size, largest = {"state": (5, 1.0), "custom": (3, 2.0)}[kind]
    actions = nearsym.Run(folder).policy(np.random.default_rng(0).normal(size=(20, size)))
    assert actions.shape == (20, 1)
    assert 0 < np.abs(actions).max() <= largest


def test_it_has_come_to_its_end(folder):
    run = nearsym.Run(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert run.resume().summary["frames"] == 2000
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_without_its_last_checkpoint_it_does_not_go_on(folder):
    """Only the best was kept here; whole folders of version 0.1 go on bit for bit."""
    with pytest.raises(UsageError, match=r"holds no checkpoint.*Start a new run") as error:
        nearsym.Run(folder).resume(3000)
    assert "\n" not in str(error.value)
    assert nearsym.Run(folder).evaluate(1)["episodes"] == 1


def test_options_of_other_tasks_are_left_behind():
    plain = copy.deepcopy(saved("state"))
    plain["task"] |= {"name": "trading", "obs": None, "symmetry": "ST", "splits": "accept"}
    task = from_plain(plain).task
    assert task == TradingTask(symmetry="ST", jumps="accept")
    assert "size" not in to_plain(from_plain(plain))["task"]


def test_a_run_of_before_the_second_agent_has_the_first():
    plain = copy.deepcopy(saved("state"))
    del plain["agent"]
    plain["algorithm"] = {"target_tau": 0.02}
    assert from_plain(plain).agent == "drqv2"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"colour": "red"}, "config.task has an unknown entry 'colour'"),
        ({"size": "37"}, "config.task.size must be int, got '37'"),
        ({"name": "cartpol"}, "Unknown task 'cartpol'"),
    ],
)
def test_what_is_wrong_is_named(change, text):
    plain = copy.deepcopy(saved("state"))
    plain["task"] |= change
    with pytest.raises(UsageError, match=text):
        from_plain(plain)


def test_a_factory_of_then_is_no_more_trusted_than_one_of_today():
    plain = copy.deepcopy(saved("custom"))
    plain["task"]["name"] = "payload:make"
    with pytest.raises(UsageError, match="`trust_task=True`"):
        from_plain(plain).task.make()
