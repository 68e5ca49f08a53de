"""A run folder is data: opening it imports nothing that it names, unless somebody says so."""

import sys

import pytest

import nearsym
from nearsym.errors import UsageError

SHORT = {"frames": 80, "seed_frames": 30, "eval_every": 40, "checkpoint_every": 40}
PAYLOAD = """
from pathlib import Path

import toys

Path(__file__).with_name("imported").touch()


def make():
    Path(__file__).with_name("called").touch()
    return toys.vector()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A run of `payload:make`, a module that leaves traces; there are none yet."""
    (tmp_path / "payload.py").write_text(PAYLOAD)
    monkeypatch.syspath_prepend(tmp_path)
    nearsym.train("payload:make", preset="smoke", training=SHORT, out=tmp_path / "run")
    _forget(tmp_path)
    yield tmp_path / "run"
    sys.modules.pop("payload", None)


def _forget(place):
    del sys.modules["payload"]
    for name in ("imported", "called"):
        (place / name).unlink()


def traces(folder):
    found = [name for name in ("imported", "called") if (folder.parent / name).exists()]
    return [*found, *(["module"] if "payload" in sys.modules else [])]


def test_looking_at_a_run_imports_nothing(folder):
    run = nearsym.Run(folder)
    assert run.config.task.name == "payload:make"
    assert run.summary["task"] == "payload:make"
    assert len(run.curve().frames) == 2
    assert run.metrics
    assert run.relaxed_weights()
    assert "payload:make" in repr(run)
    assert run.plot() is not None
    assert run.resume() is not None  # it has come to its end
    assert traces(folder) == []


ASKING = {
    "evaluate": lambda run: run.evaluate(1),
    "policy": lambda run: run.policy([0.0, 0.0]),
    "resume": lambda run: run.resume(120),
    "audit": lambda run: run.audit(samples=100),
    "export": lambda run: run.export(run.path / "policy.onnx"),
    "load_agent": lambda run: run.load_agent(),
    "make": lambda run: run.task.make(),
    "make_plain": lambda run: run.task.make_plain(),
    "traits": lambda run: run.task.traits(),
    "train again": lambda run: nearsym.train(run.task, out=run.path.parent / "other"),
}


@pytest.mark.parametrize("asking", ASKING)
def test_what_needs_the_environment_says_how_to_hand_it_over(asking, folder):
    run = nearsym.Run(folder)
    text = "import the module 'payload' and call 'make' from it.*`trust_task=True`.*task=MyEnv"
    with pytest.raises(UsageError, match=text) as error:
        ASKING[asking](run)
    assert "\n" not in str(error.value)
    assert traces(folder) == []
    assert nearsym.Run(folder).config.training.frames == 80
    assert not (folder.parent / "other").exists()


def test_somebody_may_say_so(folder):
    result = nearsym.Run(folder, trust_task=True).evaluate(2)
    assert traces(folder) == ["imported", "called", "module"]
    assert result["episodes"] == 2
    _forget(folder.parent)
    assert nearsym.Run(folder, task="payload:make").evaluate(2) == result


def test_the_environment_itself_needs_no_import(folder, toys):
    run = nearsym.Run(folder, task=toys.vector)
    assert run.evaluate(2)["episodes"] == 2
    assert run.resume(120).evaluate(2)["episodes"] == 2
    assert traces(folder) == []


def test_another_name_is_not_taken_for_the_environment(folder):
    with pytest.raises(UsageError, match="was trained on payload:make, got the `task` toys:vector"):
        nearsym.Run(folder, task="toys:vector")
    assert traces(folder) == []


def test_gymnasium_ids_need_no_word(toys, tmp_path):
    run = nearsym.train("toys/Counted-v0", preset="smoke", training=SHORT, out=tmp_path / "run")
    assert nearsym.Run(tmp_path / "run").evaluate(2) == run.evaluate(2)


def test_tasks_of_nearsym_need_no_word(small, tmp_path):
    from nearsym.runs.start import start_run

    config = small("cartpole-swingup", obs="state", eval_every=480)
    run = start_run(config, tmp_path / "run")
    assert nearsym.Run(tmp_path / "run").evaluate(1) == run.evaluate(1)
