"""Values from a file, before the flags."""

import json
from dataclasses import dataclass, field

import pytest

from nearsym.cli.options import Positional
from nearsym.cli.parse import parse
from nearsym.cli.values import read_values, with_values
from nearsym.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Training:
    """Training."""

    batch_size: int = 2
    rates: tuple[float, float] = (0.1, 0.2)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run."""

    task: Positional[str | None] = None
    frames: int = 9
    training: Training = field(default_factory=Training)


def load(plain):
    """As strict as the project's own: see `runs/config.py`."""
    training = plain["training"]
    if not isinstance(training, dict):
        raise UsageError(f"`training` must be an object, got {training!r}.")
    if not isinstance(training["batch_size"], int):
        raise UsageError("`training.batch_size` must be a whole number.")
    rates = tuple(training["rates"])
    return Run(**plain | {"training": Training(**training | {"rates": rates})})


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "values.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def read(path, default=None):
    default = Run() if default is None else default
    return with_values(default, read_values(path), load, source=path)


def test_a_part_replaces_a_part(write):
    preset = Run(frames=5, training=Training(batch_size=7))
    expected = Run(frames=5, training=Training(batch_size=7, rates=(3, 4)))
    assert read(write({"training": {"rates": [3, 4]}}), preset) == expected
    assert read(write({}), preset) == preset


def test_the_settings_of_a_run_stand_inside_its_config(write):
    saved = {"config": {"frames": 4, "task": "x"}, "versions": {"torch": "2"}}
    assert read(write(saved)) == Run(frames=4, task="x")


def test_flags_win(write):
    path = write({"frames": 4, "training": {"batch_size": 3}})
    argv = ["run", "--training.batch-size", "8"]
    command = parse("tool", "", {"run": lambda argv: (Run, read(path))}, argv).command
    assert command == Run(frames=4, training=Training(batch_size=8))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", "values.json is no JSON file: Expecting property name"),
        ([1], "values.json must hold a JSON object, got list."),
        ({"config": 3}, "values.json must hold a JSON object, got int."),
        ({"frame": 3}, "has an unknown entry 'frame'. Did you mean 'frames'?"),
        (
            {"training": {"batchsize": 3}},
            "has an unknown entry 'training.batchsize'. Did you mean 'training.batch_size'?",
        ),
        ({"training": {"batch_size": "3"}}, "values.json: `training.batch_size` must be a whole"),
        ({"training": 3}, "values.json: `training` must be an object, got 3."),
    ],
)
def test_mistakes(content, text, write):
    with pytest.raises(UsageError) as caught:
        read(write(content))
    assert text in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match=r"Cannot read .*none.json: No such file"):
        read(tmp_path / "none.json")
