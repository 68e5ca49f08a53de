"""Every command that README and docs show exists, with these options."""

import re
import shlex
from pathlib import Path

import pytest

from nearsym.cli.main import DESCRIPTION, commands
from nearsym.cli.options import flags_of, options_of
from nearsym.cli.parse import parse
from nearsym.cli.train import Train, _other_options
from nearsym.errors import UsageError

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^[ ]*```(\w*)\n(.*?)^[ ]*```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`nearsym ([^`\n]*)`")
ROBOT = re.compile(r"^```python\n(# my_robot\.py.*?)^```", re.DOTALL | re.MULTILINE)

FOUND = "import gymnasium\n\n\ndef make_env():\n    return gymnasium.make('Pendulum-v1')\n"
"""As far as it matters here, what `nearsym discover` writes."""


def shown(page: Path) -> list[str]:
    """The lines of a page's blocks that call nearsym, without their comments."""
    blocks = "\n".join(block for language, block in FENCE.findall(page.read_text("utf-8")))
    lines = [line.partition("  #")[0].strip() for line in blocks.splitlines()]
    return [line for line in lines if line.startswith("nearsym ")]


LINES = sorted({line for page in PAGES for line in shown(page)})


@pytest.fixture
def parsed(tmp_path, monkeypatch):
    """A function that parses a line in a folder with the files that the docs name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (robot,) = ROBOT.findall((ROOT / "docs" / "own_environment.md").read_text("utf-8"))
    Path("my_robot.py").write_text(robot, encoding="utf-8")
    Path("symmetry.py").write_text(FOUND, encoding="utf-8")
    Path("settings.json").write_text('{"training": {"batch_size": 32}}', encoding="utf-8")
    classes = {name: options for name, (_, options) in commands().items()}
    return lambda line: parse("nearsym", DESCRIPTION, classes, shlex.split(line)[1:])


@pytest.mark.parametrize("line", LINES)
def test_commands_parse(line, parsed):
    assert parsed(line).name == shlex.split(line)[1]


def test_there_are_many_commands_and_all_kinds():
    assert {line.split()[1] for line in LINES} == set(commands())
    assert len(LINES) > 20


@pytest.mark.parametrize("line", ["nearsym trian craft", "nearsym train craft --wnd 3"])
def test_a_wrong_command_would_be_noticed(line, parsed):
    with pytest.raises(UsageError, match="Unknown"):
        parsed(line)


def known_flags(name: str) -> set[str]:
    options = commands()[name][1]
    others = {"train": lambda: [Train, *_other_options(["-"])]}
    others["study"] = lambda: [options(words)[0] for words in ((), ("claims",))]
    classes = others[name]() if name in others else [options]
    flags = {flag for each in classes for flag in flags_of(options_of(each))}
    return flags | {"--json", "--help"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_commands_in_sentences_exist(page):
    for text in INLINE.findall(page.read_text("utf-8")):
        name, *words = text.split()
        if name == "--print-completion":
            continue
        assert name in commands(), text
        assert {word for word in words if word.startswith("--")} <= known_flags(name), text
