"""Random edits of run folders, random command lines and random arguments, under one oracle: exit
code 0, 1 or 2, no traceback, no endless wait, nothing outside touched, the other runs intact.

A case is its kind and its number; a failure names both, and `one_case(kind, number, …)` repeats it.
"""

import random
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from fuzz import calls, edits, lines
from fuzz.oracle import Failure, call, fingerprint, run_command
from nearsym.cli.bench import BENCHMARKS
from nearsym.errors import UsageError
from nearsym.runs.configure import configure
from nearsym.runs.run import start_run
from nearsym.training.loop import Interrupted

KINDS = ("folder", "line", "call")
FIXED = 50  # of each kind in every test run
MANY = 2000  # in all, in the slow tests
PARTS = 12
STEPS = 30  # after which training is asked to stop


class StopAt:
    """A request to stop that comes after so many questions."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        self.left -= 1
        return self.left < 0


@pytest.fixture(scope="session")
def _runs(tmp_path_factory):
    """Three small runs: finished, stopped on its way, stopped with its replay on disk."""
    place = tmp_path_factory.mktemp("fuzz")
    training = {"frames": 200, "seed_frames": 60, "eval_every": 120, "checkpoint_every": 40}
    for name, more, steps in (
        ("finished", {}, 10**9),
        ("stopped", {}, 270),
        ("on disk", {"replay": "disk"}, 270),
    ):
        config = configure(
            "craft", preset="smoke", training=training | more, network={"hidden": 8}, threads=1
        )
        try:
            start_run(config, place / name, stop_requested=StopAt(steps))
        except Interrupted:
            assert name != "finished"
    return place


@pytest.fixture
def world(_runs, tmp_path, monkeypatch, capsys):
    """Where a case lives, and what keeps commands from taking long or leaving the machine."""

    class Signals:
        def __enter__(self):
            return StopAt(STEPS)

        def __exit__(self, *_):
            return False

    def no_network(*_, **__):
        raise UsageError("There is no network in these tests.")

    monkeypatch.setattr("nearsym.cli.process.stop_on_signals", Signals)
    row = {"name": "nothing", "value": 1.0, "unit": "of it", "target": None, "ok": True}
    fake = SimpleNamespace(rows=lambda **_: [row])  # benchmarks take long
    monkeypatch.setitem(sys.modules, "nearsym.benchmarks.fake", fake)
    monkeypatch.setattr("nearsym.cli.bench.BENCHMARKS", dict.fromkeys(BENCHMARKS, ("fake",)))
    monkeypatch.setattr("nearsym.tasks.trading.download.download", no_network)
    monkeypatch.setattr("nearsym.training.allocator.keep_freed_memory", lambda: True)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    return World(_runs, tmp_path, monkeypatch, capsys)


class World:
    """The places of cases."""

    def __init__(self, runs: Path, place: Path, monkeypatch, capsys):
        self.runs, self.place = runs, place
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.number = 0

    def new(self, rng) -> tuple[Path, Path, Path]:
        """A run to work on, a place that nobody may touch, and one for what is written."""
        self.number += 1
        here = self.place / str(self.number)
        run = here / "run"
        shutil.copytree(self.runs / rng.choice(["finished", "stopped", "on disk"]), run)
        witness = here / "witness"
        shutil.copytree(self.runs / "finished", witness / "other")
        (witness / "file").write_text("precious")
        out = here / "out"
        out.mkdir()
        self.monkeypatch.chdir(out)
        return run, witness, out

    def forget(self, run: Path) -> None:
        """Cases are many, and disks are not endless."""
        self.monkeypatch.chdir(self.place)
        shutil.rmtree(run.parent)


def folder(world, rng):
    """A run folder with one edit or a few, and commands that open it."""
    run, witness, out = world.new(rng)
    done = [edits.edit(run, witness, rng) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
    before = fingerprint(witness)
    for _ in range(2):
        argv = rng.choice(OPENING)(run, out)
        try:
            run_command(argv, world.capsys)
        except Failure as failure:
            raise Failure(f"after {done}: {failure}") from failure
    if fingerprint(witness) != before:
        raise Failure(f"after {done}: something outside was touched")
    world.forget(run)


OPENING = [
    lambda run, out: ["train", "--resume", run],
    lambda run, out: ["train", "--resume", run],
    lambda run, out: ["train", "--resume", run, "--frames", 240],
    lambda run, out: ["eval", run, "--episodes", 1],
    lambda run, out: ["eval", run, "--episodes", 1, "--checkpoint", "last"],
    lambda run, out: ["eval", run, "--episodes", 1, "--protocol", "mean"],
    lambda run, out: ["plot", run, "--out", out / "a.svg"],
    lambda run, out: ["plot", run, "--out", out / "a.svg", "--what", "relaxed"],
    lambda run, out: ["train", "--config", run / "config.json", "--out", out / "new"],
    lambda run, out: ["audit", run, "--samples", 100],
]


def line(world, rng):
    """A random command line beside two runs."""
    run, witness, out = world.new(rng)
    before = fingerprint(witness)
    run_command(lines.line([run, witness / "other"], out, rng), world.capsys)
    after = fingerprint(witness)
    changed = {path for path in before if before[path] != after.get(path)}
    if {p for p in changed if "/other/" not in p} or set(after) - set(before) - _resumed(witness):
        raise Failure(f"something outside was touched: {changed}")
    world.forget(run)


def _resumed(witness):
    """A finished run that a command line names may be gone on with."""
    return {str(path) for path in (witness / "other").rglob("*")}


def one_call(world, rng):
    """A call from Python with random arguments."""
    run, witness, _ = world.new(rng)
    before = fingerprint(witness)
    function, described = rng.choice(calls.CALLS)(run, rng)
    call(function, described[:500])
    if fingerprint(witness) != before:
        raise Failure(f"{described}: something outside was touched")
    world.forget(run)


CASES = {"folder": folder, "line": line, "call": one_call}


def one_case(kind, number, world):
    try:
        CASES[kind](world, random.Random(f"{kind} {number}"))
    except Failure as failure:
        return f"case {kind} {number}: {failure}"
    return None


def assert_none_fails(kind, numbers, world):
    failures = [text for text in (one_case(kind, n, world) for n in numbers) if text is not None]
    assert not failures, f"{len(failures)} of {len(numbers)}:\n" + "\n".join(failures[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_cases(kind, world):
    assert_none_fails(kind, range(FIXED), world)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", KINDS)
def test_many_cases(kind, part, world):
    each = -(-MANY // (len(KINDS) * PARTS))
    start = FIXED + part * each
    assert_none_fails(kind, range(start, start + each), world)
