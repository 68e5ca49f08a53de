"""Completion scripts, tried in a real bash."""

import shutil
import subprocess
from dataclasses import dataclass, field

import pytest

from nearsym.cli.main import run
from nearsym.cli.parse import parse

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="there is no bash")
TRY = r"""
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
handler=$(complete -p "$1" | sed 's/.*-F \([^ ]*\).*/\1/')
$handler "$1" "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\n' "${COMPREPLY[@]}"
"""


def offered(script, *words):
    """What bash offers for the last of some words."""
    done = subprocess.run(
        [str(BASH), "-c", TRY, "bash", str(script), *words],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


@needs_bash
def test_bash_completes_commands_options_and_choices(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        run(["--print-completion", "bash"])
    assert caught.value.code in (0, None)
    script = tmp_path / "nearsym.bash"
    script.write_text(capsys.readouterr().out)
    assert offered(script, "nearsym", "") >= {"tasks", "train", "eval", "audit", "bench", "data"}
    assert offered(script, "nearsym", "tr") == {"train"}
    assert offered(script, "nearsym", "eval", "--ep") == {"--episodes"}
    assert offered(script, "nearsym", "eval", "--checkpoint", "") == {"best", "last"}
    assert "--json" in offered(script, "nearsym", "data", "--")


@dataclass(frozen=True, kw_only=True)
class Brush:
    """A brush."""

    hair_length: int = 5


@dataclass(frozen=True, kw_only=True)
class Roller:
    """A roller."""

    width: int = 5


@dataclass(frozen=True, kw_only=True)
class Paint:
    """Paint."""

    tool: Brush | Roller = field(default_factory=Roller)


@needs_bash
def test_dotted_options_of_a_command_whose_class_is_decided_late(tmp_path, capsys):
    commands = {"paint": lambda argv: (Paint, Paint(tool=Brush())), "clean": Brush}
    with pytest.raises(SystemExit):
        parse("tool", "", commands, ["--print-completion", "bash"])
    script = tmp_path / "tool.bash"
    script.write_text(capsys.readouterr().out)
    assert offered(script, "tool", "paint", "--tool") == {"--tool.hair-length"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_a_script(shell, capsys):
    with pytest.raises(SystemExit):
        run(["--print-completion", shell])
    out, err = capsys.readouterr()
    assert "nearsym" in out
    assert "checkpoint" in out
    assert err == ""
