"""Random edits of the folders of runs and studies, random command lines and random arguments, under
one oracle: exit code 0, 1 or 2, no traceback, no endless wait, nothing outside touched, the other
runs intact.

A case is its kind and its number; a failure names both, and `one_case(kind, number, world)` repeats
it.
"""

import random

import pytest

from fuzz import calls, edits, lines
from fuzz.oracle import Failure, call, fingerprint, run_command
from fuzz.world import RUNS, assert_untouched

FIXED = {"run": 25, "study": 8, "line": 62, "call": 55}
"""Cases of each kind in every test run: 150."""
MANY = {"run": 650, "study": 250, "line": 650, "call": 450}
"""The same in the slow tests: 2,000."""
PARTS = 10


def _resume(run, out):
    return ["train", "--resume", run]


def _evaluate(run, out):
    return ["eval", run, "--episodes", 1]


OPENING_RUN = [
    *(4 * [_resume]),
    *(3 * [_evaluate]),
    lambda run, out: [*_resume(run, out), "--frames", 240],
    lambda run, out: [*_resume(run, out), "--frames", 240],
    lambda run, out: [*_evaluate(run, out), "--checkpoint", "last"],
    lambda run, out: [*_evaluate(run, out), "--checkpoint", "last"],
    lambda run, out: [*_evaluate(run, out), "--protocol", "mean"],
    lambda run, out: ["train", "--config", run / "config.json", "--out", out / "new"],
    lambda run, out: ["plot", run, "--out", out / "a.svg"],
    lambda run, out: ["plot", run, "--out", out / "a.svg", "--what", "relaxed"],
    lambda run, out: ["audit", run, "--samples", 100],  # seconds, unlike the others
]


def _study(place, *more):
    file = place / "mine.toml"
    words = ["study", file, "--scale", "smoke", "--workers", 1, "--out", place / "out"]
    return [*words, *more]


OPENING_STUDY = [
    lambda place, out: _study(place),
    lambda place, out: _study(place),
    lambda place, out: _study(place, "--dry-run"),
    lambda place, out: ["report", place / "out" / "mine-smoke", "--out", out / "a.html"],
    lambda place, out: ["report", *results(place), "--out", out / "a.html", "--files", out / "f"],
    lambda place, out: ["study", "claims", "--from", place / "out" / "mine-smoke"],
]


def results(place):
    return sorted(place.glob("out/pool/*/result-*")) or [place / "none.jsonl"]


def open_edited(world, rng, mine, witness, out, opening):
    """A folder with one edit or a few, and two commands that open it."""
    done = [edits.edit(mine, witness, rng) for _ in range(rng.choice([1, 1, 1, 2, 4]))]
    before = fingerprint(witness)
    try:
        for _ in range(2):
            run_command(rng.choice(opening)(mine, out), world.capsys)
        assert_untouched(witness, before)
    except Failure as failure:
        raise Failure(f"after {done}: {failure}") from failure


def edited_run(world, rng):
    places = world.new(rng.choice(list(RUNS)))
    open_edited(world, rng, *places, OPENING_RUN)
    world.forget(places[0])


def edited_study(world, rng):
    places = world.new("study")
    open_edited(world, rng, *places, OPENING_STUDY)
    world.forget(places[0])


def random_line(world, rng):
    """A random command line, in a folder with a run and a study."""
    run, witness, out = world.new(rng.choice(list(RUNS)))
    study = world.made / "study"
    files = [*sorted(study.glob("out/mine-smoke/*")), study / "mine.toml"]
    before = fingerprint(witness, world.made)
    run_command(lines.line(run, files, out, rng), world.capsys)
    if fingerprint(witness, world.made) != before:
        raise Failure("something outside was touched")
    world.forget(run)


def random_call(world, rng):
    """A call from Python with random arguments."""
    run, witness, _ = world.new(rng.choice(list(RUNS)))
    before = fingerprint(witness)
    function, described = rng.choice(calls.CALLS)(run, rng)
    call(function, described[:500])
    assert_untouched(witness, before)
    world.forget(run)


CASES = {"run": edited_run, "study": edited_study, "line": random_line, "call": random_call}


def one_case(kind, number, world):
    """What a case did wrong, or None."""
    try:
        CASES[kind](world, random.Random(f"{kind} {number}"))
    except Failure as failure:
        return f"case {kind} {number}: {failure}"
    return None


def assert_none_fails(kind, numbers, world):
    failures = [text for text in (one_case(kind, n, world) for n in numbers) if text is not None]
    assert not failures, f"{len(failures)} of {len(numbers)}:\n" + "\n".join(failures[:20])


@pytest.mark.longer
@pytest.mark.parametrize("kind", CASES)
def test_a_few_cases(kind, world):
    assert_none_fails(kind, range(FIXED[kind]), world)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", CASES)
def test_many_cases(kind, part, world):
    each = MANY[kind] // PARTS
    start = FIXED[kind] + part * each
    assert_none_fails(kind, range(start, start + each), world)


def test_as_many_as_are_promised():
    assert sum(FIXED.values()) == 150
    assert sum(MANY.values()) == 2000


def test_the_oracle_sees_what_is_wrong(world, monkeypatch):
    """A harness that cannot fail proves nothing."""

    def command(act):
        monkeypatch.setattr("nearsym.cli.tasks.run", act)
        run_command(["tasks"], world.capsys)

    def broken(args):
        raise KeyError("frames")

    def leaving(args):
        raise SystemExit(3)

    with pytest.raises(Failure, match="KeyError"):
        command(broken)
    with pytest.raises(Failure, match="left with 3"):
        command(leaving)
    monkeypatch.setattr("fuzz.oracle.LIMIT", 0.1)
    with pytest.raises(Failure, match=r"still busy after 0\.1 s"):
        command(lambda args: [None for _ in iter(int, 1)])
    with pytest.raises(Failure, match="ZeroDivisionError"):
        call(lambda: 1 / 0, "1 / 0")
    _, witness, _ = world.new("finished")
    before = fingerprint(witness)
    (witness / "other" / "metrics.jsonl").write_text("")
    with pytest.raises(Failure, match="touched"):
        assert_untouched(witness, before)
