"""Results of runs as lines of JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.studies.results import RunResult, read_results, write_results


def result(seed=0, model="approx", **more):
    whole = {"key": f"{seed:016x}", "task": "craft", "variant": "tilt=75", "obs": "state"}
    whole |= {"agent": "sac", "model": model, "seed": seed, "preset": "laptop"}
    return RunResult(**whole | {"frames": [250, 500], "returns": [[1.0, 2.0], [3.0, 5.0]]} | more)


NAMES = st.text().filter(str.isprintable)


@given(
    seeds=st.lists(st.integers(0, 99), unique=True),
    settings=st.dictionaries(NAMES, st.integers() | NAMES | st.none()),
)
def test_what_is_written_is_read(tmp_path_factory, seeds, settings):
    path = tmp_path_factory.mktemp("results") / "study.jsonl"
    runs = [result(seed, settings=settings) for seed in seeds]
    write_results(path, reversed(runs))
    assert read_results(path) == sorted(runs, key=lambda run: run.seed)


def test_the_file_does_not_depend_on_the_order(tmp_path):
    runs = [result(seed, model) for seed in (1, 0) for model in ("none", "exact")]
    for name, some in (("a", runs), ("b", runs[::-1])):
        write_results(tmp_path / name, some)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_entries_of_a_later_version_are_passed_over(tmp_path):
    write_results(tmp_path / "a", [result()])
    plain = json.loads((tmp_path / "a").read_text()) | {"weather": "fine"}
    (tmp_path / "a").write_text(json.dumps(plain) + "\n")
    assert read_results(str(tmp_path / "a")) == [result()]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "Expecting property name"),
        ("[]", "it is no JSON object."),
        ("3", "it is no JSON object."),
        ('{"key": "a"}', "it has no 'task'."),
    ],
)
def test_a_damaged_line_is_named(tmp_path, line, fault):
    write_results(tmp_path / "a", [result()])
    with (tmp_path / "a").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UsageError, match=f"a, line 2 is not the result of a run: {fault}"):
        read_results(tmp_path / "a")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"none.jsonl cannot be read"):
        read_results(tmp_path / "none.jsonl")
