"""Settings from a file: what is read, and what is refused."""

import json
import os
from pathlib import Path

import pytest

from nearsym.cli.values import read_values
from nearsym.errors import UsageError


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "values.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def test_the_settings_of_a_run_stand_inside_its_config(write):
    settings = {"seed": 4, "task": {"name": "x"}}
    assert read_values(write({"config": settings, "versions": {"torch": "2"}})) == settings
    assert read_values(write(settings)) == settings


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "values.json is no JSON file: Expecting property name"),
        ([1], "values.json must hold a JSON object, got list."),
        ({"config": 3}, "values.json must hold a JSON object, got int."),
        ({"training": 3}, "values.json: `training` must be an object, got 3."),
        ({"task": "craft"}, "values.json: `task` must be an object, got 'craft'."),
    ],
)
def test_mistakes(content, text, write):
    with pytest.raises(UsageError) as caught:
        read_values(write(content))
    assert text in str(caught.value)


def test_a_pipe_of_the_shell_and_one_that_nobody_writes_to(tmp_path):
    ours, theirs = os.pipe()
    os.write(theirs, b'{"seed": 3}')
    os.close(theirs)
    assert read_values(Path(f"/dev/fd/{ours}")) == {"seed": 3}
    os.close(ours)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("pipe.json")
    for name in ("pipe.json", "link.json"):
        with pytest.raises(UsageError, match="is a pipe, and no file of settings"):
            read_values(tmp_path / name)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"Cannot read .*none.json: No such file"):
        read_values(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"trainig": {}}, "unknown entry 'trainig'. Did you mean 'training'?"),
        ({"training": {"batchsize": 3}}, "Did you mean 'batch_size'?"),
        ({"training": {"batch_size": "3"}}, "--training.batch-size must be int, got '3'"),
        ({"seed": "x"}, "seed"),
        ({"preset": 3}, "--preset must be text, got 3"),
        ({"preset": []}, "--preset must be text, got []"),
        ({"agent": {}}, "--agent must be text, got {}"),
        ({"network": {"model": [1]}}, "--model must be text, got [1]"),
        ({"device": 7}, "--device must be text, got 7"),
        ("[" * 100_000, "is no JSON file: it is nested too deeply"),
        ('{"seed": ' + "9" * 5000 + "}", "is no JSON file: Exceeds the limit (4300 digits)"),
    ],
)
def test_what_a_file_gets_wrong_is_one_sentence(content, text, write, command):
    result = command("train", "craft", "--config", write(content), "--out", "run")
    assert result.code == 2
    assert text in result.err
    assert "Traceback" not in result.err


def test_an_endless_file_is_not_read_to_its_end():
    with pytest.raises(UsageError, match="no file of settings: it has more than 64 MiB"):
        read_values(Path("/dev/zero"))
