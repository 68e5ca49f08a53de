"""The scripts behind the learning curves of the docs: their tables, on numbers made up here."""

import json
import sys
from pathlib import Path

import pytest

from nearsym.runs.config import to_plain
from nearsym.runs.folder import write_json

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def scripts(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.chdir(tmp_path)
    import draw_curves
    import learning_curves

    yield learning_curves, draw_curves
    for name in ("draw_curves", "learning_curves"):
        sys.modules.pop(name, None)


def rows_of(model, seed, returns, every=10):
    shared = {"task": "t", "variant": "original", "obs": "state", "agent": "sac", "layers": "group"}
    run = shared | {"model": model, "noise": 0, "seed": seed}
    return [run | {"frames": every * (i + 1), "return": r} for i, r in enumerate(returns)]


def test_a_table_has_the_last_three_evaluations_of_runs_of_one_length(scripts):
    learning, drawing = scripts
    rows = rows_of("exact", 0, [0, 100, 200, 300]) + rows_of("exact", 1, [0, 0, 0, 600])
    learning._merge("x", rows + rows_of("exact", 2, [5, 6, 7]))
    lines = drawing.table("x").splitlines()[2:]
    assert lines == [
        "| t original exact | 40 | 0, 1 | 200, 200 | 200 |",
        "| t original exact | 30 | 2 | 6 | 6 |",
    ]


def test_differences_pair_seeds_up_to_the_shorter_run(scripts):
    learning, drawing = scripts
    rows = rows_of("approx", 0, [11, 1, 2, 3, 900]) + rows_of("exact", 0, [1, 0, 0, 0])
    rows += rows_of("approx", 1, [10, 10, 10]) + rows_of("none", 1, [40, 40, 40])
    learning._merge("x", rows)
    assert drawing.differences("x").splitlines()[2:] == [
        "| t original | approx − exact | +2 | +2 | +4 | +4 |",
        "| t original | approx − none | -30 | -30 | -30 | -30 |",
    ]


def test_a_run_made_again_replaces_its_rows_and_leaves_others(scripts):
    learning, _ = scripts
    learning._merge("x", rows_of("exact", 0, [1, 2]) + rows_of("none", 0, [3]))
    learning._merge("x", rows_of("exact", 0, [7]))
    found = {(row["model"], row["frames"]): row["return"] for row in learning.read("x")}
    assert found == {("none", "10"): "3", ("exact", "10"): "7"}


def test_runs_have_names_of_their_own_and_only_ended_ones_count(scripts):
    learning, _ = scripts
    named = [
        name for which in learning.curves().values() for name, _ in map(learning._named, which)
    ]
    assert len(set(named)) == len(named)
    folder = learning.RUNS / named[0]
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text('{"frames": 10, "eval/return_mean": 5.0}\n')
    (which,) = [
        k for k, v in learning.curves().items() if named[0] in dict(map(learning._named, v))
    ]
    assert list(learning.points(which)) == []
    (folder / "summary.json").write_text("{}")
    assert [row["return"] for row in learning.points(which)] == [5.0]


def test_relaxed_weights_are_those_of_the_elements_they_are_named_by(scripts):
    """In D2 the first element after e is the half turn, and no mirror."""
    learning, _ = scripts
    name, plan = next(
        (name, plan)
        for name, plan in map(learning._named, learning.curves()["state-others"])
        if plan.task == "reacher-hard"
    )
    folder = learning.RUNS / name
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {"config": to_plain(plan.config())})
    rows = [
        {"frames": 10, "eval/returns": [5.0], "relaxed/actor.mean": [[1.0, 1.0, 1.0, 1.0]]},
        {"frames": 20, "eval/returns": [5.0], "relaxed/actor.mean": [[1.0, 1.1, 1.2, 1.4]]},
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "summary.json").write_text("{}")
    found = list(learning.element_weights("state-others"))
    assert {row["element"]: row["difference"] for row in found} == {
        "rot180": 0.1,
        "mirror_x": 0.2,
        "mirror_y": 0.4,
    }
    assert {row["frames"] for row in found} == {20}


def test_every_plan_is_a_run_that_can_be(scripts):
    learning, _ = scripts
    for plan in (plan for plans in learning.curves().values() for plan in plans):
        config = plan.config()
        assert (config.task.name, config.task.variant) == (plan.task, plan.variant)
        assert (config.network.model, config.network.layers) == (plan.model, plan.layers)
        assert (config.training.frames, config.seed, config.threads) == (plan.frames, plan.seed, 1)
        assert config.task.noise == (0 if plan.noise is None else plan.noise)


@pytest.mark.parametrize("folder", ["scripts", "examples"])
def test_scripts_use_the_library_and_not_the_command(folder):
    paths = sorted((SCRIPTS.parent / folder).rglob("*.py"))
    assert paths
    assert not [path.name for path in paths if "nearsym.cli" in path.read_text()]
