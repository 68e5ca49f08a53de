"""What the house promises as a whole: its public names, and who may speak of what."""

import ast
import importlib
import re
import statistics
from pathlib import Path

import pytest

import nearsym
from nearsym.tasks.registry import NAMES

ROOT = Path(nearsym.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ROOMS = ("agents", "audits", "discovery", "groups", "integrations", "layers", "measures")
ROOMS += ("networks", "runs", "studies", "tasks", "theory", "training")
PUBLIC = Path(__file__).parent / "public_names.txt"


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def test_public_names_change_only_on_purpose():
    found = [f"nearsym.{name}" for name in sorted(nearsym.__all__)]
    for room in ROOMS:
        module = importlib.import_module(f"nearsym.{room}")
        found += [f"nearsym.{room}.{name}" for name in sorted(module.__all__)]
    assert found == PUBLIC.read_text().split()


@pytest.mark.parametrize("name", PUBLIC.read_text().split())
def test_public_names_are_there_and_explained(name):
    package, _, attribute = name.rpartition(".")
    value = getattr(importlib.import_module(package), attribute)
    assert attribute == "__version__" or value.__doc__


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_nobody_speaks_out_of_turn(path):
    """Tasks are named in tasks (and where results about them are made), flags in the command."""
    room, tree = room_of(path), ast.parse(path.read_text())
    documentation = {id(node) for text in _documentation(tree) for node in ast.walk(text)}
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in documentation
    ]
    # `nearsym bench trading` is a benchmark that is called like the task.
    if room not in ("tasks", "benchmarks", "studies") and path.name != "bench.py":
        named = [text for text in strings if text in NAMES]
        assert not named, f"{path.name} names the task {named}"
    if room not in ("cli", "benchmarks"):
        flags = [text for text in strings if re.search(r"(^|[\s(])--[a-z]", text)]
        assert not flags, f"{path.name} speaks of flags: {flags}"


def _documentation(tree):
    """Docstrings, and the strings under fields and constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node


def test_files_and_functions_are_short():
    lengths = []
    for path in FILES:
        text = path.read_text()
        assert text.count("\n") <= 300, f"{path.relative_to(ROOT)} is longer than 300 lines"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                lengths.append(node.end_lineno - node.lineno + 1)
    assert statistics.median(lengths) < 10
