"""Backticked parameters of the library as flags of the command."""

from dataclasses import dataclass, field

import pytest

from nearsym.cli.flags import as_flags
from nearsym.cli.options import Positional, options_of


@dataclass(frozen=True, kw_only=True)
class Training:
    """Training."""

    seed_frames: int = 1
    batch_size: int = 2
    learn: bool = True


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command."""

    run: Positional[str] = ""
    frames: int = 1
    max_shares: int = 1
    checkpoint: str = "best"
    sample: bool = False
    pair: tuple[float, float] = (0.0, 0.0)
    training: Training = field(default_factory=Training)
    other: Training = field(default_factory=Training)


OPTIONS = options_of(Command)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`frames` must be at least 1, got 0.", "--frames must be at least 1, got 0."),
        ("`nearsym.Run('my run').resume()`", "nearsym train --resume 'my run'"),
        ("`max_shares` and `frames`", "--max-shares and --frames"),
        ("use `checkpoint='last'`.", "use --checkpoint last."),
        ('use `checkpoint="the last"`.', "use --checkpoint 'the last'."),
        ("`frames=5`", "--frames 5"),
        ("`pair=(1, 2.5)`", "--pair 1 2.5"),
        ("`sample=True` or `sample=False`", "--sample or --no-sample"),
        ("`training.learn=False`", "--training.no-learn"),
        ("`training.seed_frames` is too large", "--training.seed-frames is too large"),
        ("`run` is no folder", "RUN is no folder"),
        ("`run='x'`", "run='x'"),
        ("`checkpoint=None`", "checkpoint=None"),
        ("`frames=2 * n`", "frames=2 * n"),
        ("`batch_size` fits two options", "batch_size fits two options"),
        ("call `env.reset()` and `unheard_of`", "call env.reset() and unheard_of"),
        ("a lone ` stays, frames too", "a lone ` stays, frames too"),
    ],
)
def test_translations(text, expected):
    assert as_flags(text, OPTIONS) == expected


def test_the_last_part_of_a_dotted_name_is_enough_if_it_is_the_only_one():
    @dataclass(frozen=True, kw_only=True)
    class One:
        """One."""

        training: Training = field(default_factory=Training)

    assert as_flags("`batch_size`", options_of(One)) == "--training.batch-size"


def test_without_options_only_backticks_go():
    assert as_flags("`frames` must", {}) == "frames must"
