"""Studies and results from anybody: links, pipes, devices and entries of the wrong kind are refused
by their names, and nothing is written through them."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from nearsym.errors import UsageError
from nearsym.studies.execute import run_study
from nearsym.studies.files import read_study
from nearsym.studies.hold import Hold
from nearsym.studies.pool import last_row
from nearsym.studies.portfolio_check import FIGURES
from nearsym.studies.rates import measured_rates
from nearsym.studies.report.page import title_of
from nearsym.studies.results import read_results
from study_results import made

PORTFOLIO = {"name": "none, sampled", "runs": 2, "costs": {"mean": 12.0, "ci95": None}}


def line(**changes):
    return json.dumps(asdict(made()) | changes)


def deep(levels):
    return json.loads("[" * levels + "]" * levels)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("key", 3),
        ("task", None),
        ("variant", 1.5),
        ("seed", -1),
        ("seed", "0"),
        ("settings", []),
        ("frames", [1.5]),
        ("frames", [10**400]),
        ("returns", [[1.0], []]),
        ("returns", [[float("nan")]]),
        ("returns", [[1e200]]),
        ("returns", 7),
        ("relaxed", {"encoder.0": [[1.0], [1.0, 2.0]]}),
        ("relaxed", {"encoder.0": deep(200)}),
        ("elements", "e"),
        ("parameters", {"total": "many"}),
        ("seconds", None),
        ("seconds", float("inf")),
        ("evaluations", {"clean": [None]}),
        ("versions", {"torch": 2}),
        ("details", {"metrics": [{"name": "none", "costs": 3}]}),
        ("details", {"random": "rows"}),
        ("details", {"value": [[1.0], [1.0, 2.0]]}),
        ("details", {"dates": [1, 2]}),
    ],
)
def test_an_entry_of_the_wrong_kind_is_named(name, value, tmp_path):
    (tmp_path / "a.jsonl").write_text(line(**{name: value}))
    with pytest.raises(
        UsageError, match=r"a\.jsonl, line 1 is not the result of a run: `"
    ) as error:
        read_results(tmp_path / "a.jsonl")
    named = next(iter(value)) if name == "details" else name
    assert f"`{named}` must be" in str(error.value)
    assert len(str(error.value)) < 500


def test_entries_that_do_not_belong_together(tmp_path):
    for changes, text in (
        ({"frames": [1]}, "it has 1 `frames` and 6 `returns`"),
        ({"frames": [6, 5, 4, 3, 2, 1]}, "do not rise"),
        ({"relaxed": {"encoder.0": [[[1.0]]]}}, "not those of its `frames`"),
    ):
        (tmp_path / "a.jsonl").write_text(line(**changes))
        with pytest.raises(UsageError, match=text):
            read_results(tmp_path / "a.jsonl")


def test_details_of_every_kind_are_read(tmp_path):
    nothing = PORTFOLIO | {"sharpe_mean_over_std": {"mean": float("nan"), "ci95": None}}
    random = PORTFOLIO | {name: {"mean": 1.0} for name in FIGURES}
    details = {"metrics": [PORTFOLIO, nothing], "random": random, "value": [[1.0, 2.0]]}
    details |= {"dates": ["2020-01-02", "2020-01-03"], "epsilon": None, "own": {"anything": 1}}
    (tmp_path / "a.jsonl").write_text(line(details=details))
    (run,) = read_results(tmp_path / "a.jsonl")
    assert run.details.keys() == details.keys()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_never_ends_is_not_read(kind, tmp_path):
    for name in ("a.jsonl", "a.toml", "study.json", "metrics.jsonl", "sign"):
        if kind == "pipe":
            os.mkfifo(tmp_path / name)
        else:
            (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(UsageError, match=r"a\.jsonl is no regular file"):
        read_results(tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match=r"a\.toml is no regular file"):
        read_study(tmp_path / "a.toml")
    with pytest.raises(UsageError, match=r"sign is a .*regular files only"):
        Hold(tmp_path)
    assert last_row(tmp_path) is None
    assert title_of([tmp_path]) == tmp_path.stem


def test_a_file_may_be_named_by_a_link(tmp_path):
    (tmp_path / "a.jsonl").write_text(line())
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "a.jsonl")
    assert read_results(tmp_path / "b.jsonl") == read_results(tmp_path / "a.jsonl")


@pytest.mark.parametrize("text", ["a = " + "[" * 50_000, "a = " + "{a=" * 50_000])
def test_a_study_that_is_nested_too_deeply(text, tmp_path):
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(UsageError, match=r"a\.toml is no TOML file"):
        read_study(tmp_path / "a.toml")


STRANGE = {
    "numbers": {"seconds": "long", "frames": 0},
    "nothing": {},
    "infinite": {"seconds": float("inf"), "frames": 1},
    "negative": {"seconds": -5.0, "frames": 1},
}


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_runs_of_a_pool_are_not_asked_for_their_speed(kind, tmp_path):
    config = {"task": {"name": ["a"], "kind": 3}, "preset": {}, "agent": "sac", "device": "cpu"}
    (tmp_path / "run").mkdir()
    about = {"config": config | {"network": {"model": "none"}}}
    (tmp_path / "run" / "config.json").write_text(json.dumps(about))
    (tmp_path / "run" / "summary.json").write_text(json.dumps(STRANGE[kind]))
    assert not measured_rates(tmp_path).measured


@pytest.mark.parametrize(
    "row", [b"[]", b'{"frames": "many"}', b'{"frames": [1]}', b"[" * 50_000, b"\xff"]
)
def test_strange_lines_of_a_log_are_passed_over(row, tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(b'{"frames": 7}\n' + row + b"\n")
    assert last_row(tmp_path) == {"frames": 7}


@pytest.mark.parametrize("name", ["mine-smoke", "pool", "pool/locks"])
def test_a_study_does_not_write_through_links(name, study, tmp_path):
    victim, place = tmp_path / "victim", tmp_path / "out"
    victim.mkdir()
    (place / name).parent.mkdir(parents=True)
    (place / name).symlink_to(victim)
    with pytest.raises(UsageError, match="is a symbolic link") as error:
        run_study(study(), out=place)
    assert str(place / name) in str(error.value)
    assert not list(victim.iterdir())


@pytest.mark.longer
def test_a_linked_run_and_a_linked_lock_fail_alone(study, tmp_path):
    wanted, victim = study(model="none", seed=0), tmp_path / "victim"
    victim.mkdir()
    run_study(wanted, out=tmp_path / "out", workers=1)
    (folder,) = (tmp_path / "out" / "pool").glob("craft*")
    folder.rename(tmp_path / "away")
    folder.symlink_to(victim)
    found = run_study(wanted, out=tmp_path / "out", workers=1)
    (reason,) = found.failures.values()
    assert "is a symbolic link" in reason
    assert not list(victim.iterdir())
    lock = folder.parent / "locks" / folder.name
    lock.rename(tmp_path / "lock")
    lock.symlink_to(victim)
    (reason,) = run_study(wanted, out=tmp_path / "out", workers=1).failures.values()
    assert str(lock) in reason
    assert not list(victim.iterdir())


@pytest.mark.longer
@pytest.mark.timeout(60)
def test_workers_print_to_no_link_and_no_pipe(tmp_path):
    script = "import sys; from pathlib import Path; from nearsym.studies.workers import _print_to\n"
    script += "_print_to(Path(sys.argv[1])); print('spoken', flush=True)"
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "log"):
        words = [sys.executable, "-c", script, str(tmp_path / name)]
        subprocess.run(words, check=True, timeout=50)
    assert not (tmp_path / "victim").exists()
    assert Path(tmp_path / "log").read_text() == "spoken\n"
