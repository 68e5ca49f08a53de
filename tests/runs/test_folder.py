"""What lies in a run folder, and how folders are named."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.groups.symmetry import Symmetry
from nearsym.runs.build import build_agent
from nearsym.runs.configure import configure
from nearsym.runs.folder import (
    check_data,
    default_folder,
    described,
    read_config,
    read_parameters,
    read_rows,
    read_summary,
    refuse_used,
    write_json,
)
from nearsym.tasks.registry import find_task

MIRROR = dihedral(1)


def named(task="cartpole-swingup", **options):
    return default_folder(configure(task, **options)).name


@pytest.mark.usefixtures("toys")
def test_a_folder_is_named_by_its_run():
    assert default_folder(configure("trading", symmetry="T")).parent == Path("runs")
    assert named() == "cartpole-swingup-pixels-drqv2-approx-laptop-seed0"
    assert named(obs="state", variant="wear=0.25", seed=3) == (
        "cartpole-swingup-wear=0.25-state-sac-approx-laptop-seed3"
    )
    assert named("toys/Counted-v0", preset="smoke") == "toys_Counted-v0-sac-none-smoke-seed0"
    assert named("toys:counted", model="none") == "toys_counted-sac-none-laptop-seed0"
    assert "<" not in named(lambda: find_task("toys:vector").make())


def test_what_a_preset_says_needs_no_name():
    assert named(size=43) == named()  # it is the preset's
    assert named(frames=7000) == named()
    assert named(threads=2, precision="fp32") == named()


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("cartpole-swingup", {"noise": 0.02}),
        ("cartpole-swingup", {"noise": 0.06}),
        ("cartpole-swingup", {"size": 61}),
        ("cartpole-swingup", {"background": True}),
        ("cartpole-swingup", {"training": {"batch_size": 64}}),
        ("cartpole-swingup", {"network": {"filters": 2}}),
        ("cartpole-swingup", {"algorithm": {"target_tau": 0.5}}),
        ("trading", {"symmetry": "T"}),
        ("trading", {"symmetry": "ST"}),
        ("trading", {"symmetry": "ST", "data": "one.csv"}),
        ("trading", {"symmetry": "ST", "data": "other.csv"}),
        ("trading", {"symmetry": "ST", "foresight": True}),
        ("toys:Counted", {"symmetry": Symmetry(2 * MIRROR.sign(), MIRROR.sign())}),
        ("toys:Counted", {"symmetry": Symmetry(2 * MIRROR.trivial(), MIRROR.sign())}),
    ],
)
def test_runs_that_differ_get_folders_that_differ(task, options):
    options = {"model": "approx"} | options
    first = named(task, **options)
    assert first == named(task, **options)
    for other in ALL:
        if other != (task, options):
            assert named(other[0], **other[1]) != first


ALL = [
    ("cartpole-swingup", {"model": "approx"}),
    ("cartpole-swingup", {"model": "exact"}),
    ("cartpole-swingup", {"model": "approx", "noise": 0.04}),
    ("trading", {"model": "approx", "symmetry": "ST", "fill": "next_open"}),
    ("trading", {"model": "approx", "symmetry": "ST"}),
    ("trading", {"model": "approx", "symmetry": "T"}),
    ("toys:counted", {"model": "approx"}),
]


def test_config_json_has_all_that_is_needed_to_repeat_a_run(small, tmp_path):
    config = small("trading", model="none")
    env = config.task.make()
    counts = build_agent(config, env).networks.parameter_counts()
    content = described(config, env, counts)
    assert {"python", "machine", "torch", "numpy", "nearsym"} <= set(content["versions"])
    assert content["data_sha256"] == env.table.sha256
    write_json(tmp_path / "config.json", content)
    assert read_config(tmp_path) == config
    assert read_parameters(tmp_path) == counts
    check_data(tmp_path, config.task, env)
    write_json(tmp_path / "config.json", content | {"data_sha256": "0"})
    with pytest.raises(UsageError, match=r"The prices are not those that .* was trained on"):
        check_data(tmp_path, config.task, env)
    other = small("toys:vector")
    assert described(other, other.task.make(), counts)["data_sha256"] is None


def test_what_is_not_there_is_nothing(tmp_path):
    assert read_summary(tmp_path) is None
    assert read_rows(tmp_path) == []


def test_a_row_that_was_cut_short_is_left_out(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"frames": 1}\n{"frames": 2}\n{"fra')
    assert read_rows(tmp_path) == [{"frames": 1}, {"frames": 2}]


def test_what_a_run_that_was_killed_at_once_left_is_no_run(tmp_path):
    for name in ("lock", "config.json.part"):
        (tmp_path / name).touch()
    refuse_used(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UsageError, match=r"has no checkpoint\. If it was .*`out`\."):
        refuse_used(tmp_path)
    with pytest.raises(UsageError, match=r"config\.json is a file. Choose another `out`"):
        refuse_used(tmp_path / "config.json")


def test_files_are_written_whole(tmp_path):
    write_json(tmp_path / "config.json", {"a": 1})
    assert json.loads((tmp_path / "config.json").read_text()) == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_relative_path_of_prices_holds_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for data in ("prices.csv", Path("prices.csv"), tmp_path / "prices.csv"):
        config = configure("trading", data=data)
        assert config.task.data == str(tmp_path / "prices.csv")
    assert configure("trading", data="embedded").task.data == "embedded"
    assert configure("trading").task.data is None
    task = replace(config.task, data="prices.csv")
    assert configure(task).task.data == str(tmp_path / "prices.csv")
