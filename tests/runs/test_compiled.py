"""Training with a compiled encoder: asked for, saved with the run, refused where it cannot work."""

import json

import pytest
import torch

import nearsym
from nearsym.errors import UsageError
from nearsym.runs.configure import configure
from nearsym.runs.identity import bound, digest
from nearsym.runs.run import Run

PIXELS = {"obs": "pixels", "preset": "smoke", "model": "approx", "frames": 800}
PIXELS |= {"training": {"eval_every": 400, "checkpoint_every": 400}}


def config(**given):
    return configure("cartpole-swingup", **PIXELS | given)


@pytest.fixture
def calls(monkeypatch):
    """Modules that were to be compiled; nothing is."""
    found = []
    monkeypatch.setattr(torch, "compile", lambda function: function)
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda self, **how: found.append((type(self).__name__, how))
    )
    return found


def test_it_decides_numbers_and_changes_no_older_digest():
    assert digest(config(compile=True)) != digest(config())
    here = {"precision": "fp32", "threads": 1}
    assert digest(config(**here)) == "d293f757a7106218"  # before there was such a setting
    assert bound(config())["compile"] is False
    assert bound(config(compile=True))["compile"] is True
    assert bound(config(compile=True), to_play=True) == bound(config(), to_play=True)


def test_on_vectors_it_is_refused():
    with pytest.raises(UsageError, match="`compile` is about encoders of images, and craft shows"):
        configure("craft", compile=True)


def test_only_the_encoder_and_only_to_train(calls, tmp_path):
    run = nearsym.train("cartpole-swingup", **PIXELS, compile=True, out=tmp_path / "run")
    assert calls == [("PixelEncoder", {"dynamic": False})]
    assert run.config.compile
    run.evaluate(episodes=1)
    assert len(calls) == 1


def test_without_a_compiler(monkeypatch, tmp_path):
    def fails(function):
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found\nmore")

    monkeypatch.setattr(torch, "compile", fails)
    with pytest.raises(UsageError, match=r"needs a C\+\+ compiler .*No working C\+\+ compiler fou"):
        nearsym.train("cartpole-swingup", **PIXELS, compile=True, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_edited_choice_is_refused(calls, tmp_path):
    folder = tmp_path / "run"
    nearsym.train("cartpole-swingup", **PIXELS, compile=True, out=folder)
    content = json.loads((folder / "config.json").read_text())
    content["config"]["compile"] = False
    (folder / "config.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match="compile"):
        Run(folder).resume(frames=1600)


@pytest.mark.slow
def test_compiled_runs_repeat_also_after_resuming(tmp_path):
    """The compiler itself, in this process; about a minute."""

    def rows(run):
        lines = (run.path / "metrics.jsonl").read_text().splitlines()
        kept = [json.loads(line) for line in lines]
        return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in kept]

    whole = nearsym.train("cartpole-swingup", **PIXELS, compile=True, out=tmp_path / "whole")
    torch.compiler.reset()
    short = PIXELS | {"frames": 400}
    half = nearsym.train("cartpole-swingup", **short, compile=True, out=tmp_path / "half")
    half.resume(frames=800)
    assert rows(half) == rows(whole)
