"""The log of a run: one JSON object a line, cut back where a run goes on."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nearsym.errors import RunError, UsageError
from nearsym.training.atomic import DiskError
from nearsym.training.log import RunLog, read_metrics


@pytest.fixture
def log(tmp_path):
    log = RunLog(tmp_path)
    yield log
    log.close()


def test_a_line_is_there_at_once(log):
    log.write(10, {"train/return": 1.5})
    assert read_metrics(log.path) == [{"frames": 10, "train/return": 1.5}]


def test_tensors_and_arrays_become_lists(log):
    log.write(3, {"relaxed/a": torch.ones(1, 2), "x": np.float32(0.5), "y": np.arange(2)})
    row = json.loads(log.path.read_text())
    assert row == {"frames": 3, "relaxed/a": [[1.0, 1.0]], "x": 0.5, "y": [0, 1]}


def test_what_is_not_finite_is_null_so_that_every_parser_reads_it(log):
    log.write(1, {"a": math.nan, "b": [1.0, math.inf], "c": torch.tensor(-math.inf)})
    text = log.path.read_text()
    assert json.loads(text) == {"frames": 1, "a": None, "b": [1.0, None], "c": None}
    assert "NaN" not in text


def test_numbers_survive_exactly(log):
    value = 0.1 + 0.2
    log.write(1, {"a": value})
    assert read_metrics(log.path)[0]["a"] == value


def test_a_resumed_log_goes_on_at_its_checkpoint(tmp_path):
    log = RunLog(tmp_path)
    log.write(1, {"a": 1.0})
    position = log.position()
    log.write(2, {"a": 2.0})
    log.close()
    again = RunLog(tmp_path, position=position, frames=1)
    again.write(2, {"a": 3.0})
    assert again.position() == log.path.stat().st_size
    again.close()
    assert [row["a"] for row in read_metrics(log.path)] == [1.0, 3.0]


def test_a_new_log_is_empty(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("left over\n")
    RunLog(tmp_path).close()
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_a_line_cut_short_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"frames": 1}\n{"frames": 2}\n{"fra')
    assert [row["frames"] for row in read_metrics(path)] == [1, 2]


def test_scalars_reach_tensorboard(tmp_path):
    log = RunLog(tmp_path)
    log.write(7, {"eval/return_mean": 12.0, "eval/returns": [12.0]})
    log.close()
    assert scalars(tmp_path) == [(7, 12.0)]


def scalars(folder):
    found = EventAccumulator(str(folder / "tb")).Reload()
    return [(scalar.step, scalar.value) for scalar in found.Scalars("eval/return_mean")]


def test_tensorboard_forgets_what_a_resumed_run_repeats(tmp_path, monkeypatch):
    log = RunLog(tmp_path)
    log.write(7, {"eval/return_mean": 1.0})
    position = log.position()
    log.write(9, {"eval/return_mean": 2.0})
    log.close()
    monkeypatch.setattr("time.time", lambda: 9e9)  # files are read in the order of their names
    again = RunLog(tmp_path, position=position, frames=7)
    again.write(9, {"eval/return_mean": 3.0})
    again.close()
    assert scalars(tmp_path) == [(7, 1.0), (9, 3.0)]


def test_a_file_that_has_lost_lines_is_not_filled_with_zeros(tmp_path):
    with pytest.raises(UsageError, match="shorter than it was at the last checkpoint"):
        RunLog(tmp_path, position=10)
    assert (tmp_path / "metrics.jsonl").read_bytes() == b""


@pytest.mark.parametrize("file", ["metrics.jsonl", "tb"])
def test_a_full_disk_is_an_error_that_people_can_read(file, log, monkeypatch):
    """/dev/full takes nothing; neither writing nor closing may end in a bare OSError."""
    with open("/dev/full", "wb", buffering=0) as raw:
        if file == "tb":
            monkeypatch.setattr(log._scalars._records, "_writer", raw)
        else:
            monkeypatch.setattr(log, "path", Path("/dev/full"))
            monkeypatch.setattr(log, "_descriptor", os.dup(raw.fileno()))
        with pytest.raises(DiskError, match=r"Writing metrics failed in .*: the disk is full"):
            log.write(1, {"a": 1.0})


def test_a_deleted_file_is_put_back_and_ends_the_run(log):
    log.write(1, {"a": 1.0})
    before = log.path.read_bytes()
    log.path.unlink()
    with pytest.raises(RunError, match=r"deleted while the run wrote to it.*put back; resume"):
        log.write(2, {"a": 2.0})
    assert log.path.read_bytes() == before


def test_a_deleted_file_is_noticed_at_a_checkpoint_too(log):
    log.write(1, {"a": 1.0})
    log.path.unlink()
    with pytest.raises(RunError, match="deleted"):
        log.position()
    assert read_metrics(log.path) == [{"frames": 1, "a": 1.0}]


def test_a_replaced_file_is_somebody_elses(log, tmp_path):
    log.write(1, {"a": 1.0})
    before = log.path.read_bytes()
    (tmp_path / "other").write_text("mine")
    (tmp_path / "other").rename(log.path)
    with pytest.raises(RunError, match=r"replaced .* What it held is in metrics.kept.jsonl: give"):
        log.write(2, {"a": 2.0})
    assert log.path.read_text() == "mine"
    assert (tmp_path / "metrics.kept.jsonl").read_bytes() == before


def test_a_shortened_file_ends_the_run(log):
    log.write(1, {"a": 1.0})
    os.truncate(log.path, 3)
    with pytest.raises(RunError, match="shortened while the run wrote to it"):
        log.write(2, {"a": 2.0})
    assert log.path.stat().st_size == 3


def test_a_log_goes_on_only_where_a_line_ends(log, tmp_path):
    log.write(1, {"a": 1.0})
    log.check(log.position())
    for wrong, kind in ((3, UsageError), (-1, ValueError), ("0", ValueError), (None, ValueError)):
        with pytest.raises(kind):
            log.check(wrong)
    with pytest.raises(UsageError, match="no line that ends at byte 3"):
        RunLog(tmp_path, position=3)


def test_looking_at_a_log_changes_nothing(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"frames": 1}\n')
    RunLog(tmp_path, position=None).close()
    assert path.read_text() == '{"frames": 1}\n'
    assert not (tmp_path / "tb").exists()


@pytest.mark.parametrize(
    "line", ["x", "[]", "3", '{"a": 1}', '{"frames": -1}', '{"frames": "9"}', '{"frames": true}',
             "[" * 100_000, '{"frames": ' + "9" * 5000 + "}", '{"frames": 1e3}']
)  # fmt: skip
def test_a_damaged_line_is_named(line, tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"frames": 1}}\n{line}\n')
    with pytest.raises(UsageError, match=r"metrics.jsonl, line 2, is damaged: ") as error:
        read_metrics(path)
    assert len(str(error.value)) < 300


def test_a_log_that_no_run_wrote_is_not_read_into_memory(tmp_path):
    path = tmp_path / "metrics.jsonl"
    with path.open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(UsageError, match="more than the 1,073,741,824 that it may have"):
        read_metrics(path)
