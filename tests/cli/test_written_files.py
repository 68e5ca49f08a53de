"""Files that commands write: never through a link, never into a pipe, which might wait for ever."""

import json
import os

import pytest
from matplotlib.figure import Figure

from nearsym.cli.config_file import asked_by_file
from nearsym.errors import UsageError
from nearsym.runs.plot import write_figure


def test_a_plot_is_not_written_into_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.svg")
    with pytest.raises(UsageError, match="is a pipe"):
        write_figure(Figure(), tmp_path / "a.svg")


@pytest.mark.parametrize("name", ["a.svg", "a.PNG", "a.pdf"])
def test_a_plot_takes_the_place_of_a_link(name, tmp_path):
    (tmp_path / "outside").write_text("mine")
    (tmp_path / name).symlink_to(tmp_path / "outside")
    write_figure(Figure(), tmp_path / name)
    assert (tmp_path / "outside").read_text() == "mine"
    assert (tmp_path / name).stat().st_size > 100


def test_a_declaration_is_not_written_into_a_pipe(command, tmp_path):
    os.mkfifo(tmp_path / "a.py")
    result = command("discover", "craft", "--out", "a.py")
    assert (result.code, result.err) == (2, "nearsym: a.py is a pipe. Name a file to write to.\n")


def test_a_declaration_takes_the_place_of_a_link(command, tmp_path):
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "a.py").symlink_to(tmp_path / "outside")
    assert command("discover", "craft", "--samples", "100", "--out", "a.py").code == 0
    assert (tmp_path / "outside").read_text() == "mine"
    assert "Symmetry" in (tmp_path / "a.py").read_text()


@pytest.mark.parametrize("share", ["nan", "-1", "inf"])
def test_a_share_of_a_gpu_is_a_number(share, command):
    result = command("study", "curves", "--gpus", share, "--cluster", "auto", "--dry-run")
    assert result.code == 2
    assert result.err.startswith("nearsym: --gpus must be")


def test_options_in_a_file_that_names_no_task_count(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"task": {"data": "a.csv"}}))
    asked = asked_by_file(str(path), task="trading", model=None, trust_task=False)
    assert asked["options"] == {"data": "a.csv"}
    path.write_text(json.dumps({"task": {"kind": "craft", "size": 3}}))
    assert asked_by_file(str(path), task="trading", model=None, trust_task=False)["options"] == {}
