"""docs/python.md lists every public name, and no other."""

import importlib
import re
from pathlib import Path

import pytest

import nearsym

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")
ROW = re.compile(r"^\| `nearsym\.(\w+)` \|.*\|(.*)\|$", re.MULTILINE)
ROWS = dict(ROW.findall(PAGE))


def test_every_namespace_has_a_row():
    assert set(nearsym._ROOMS) <= set(ROWS)


@pytest.mark.parametrize("room", ROWS)
def test_the_names_of_a_namespace(room):
    module = importlib.import_module(f"nearsym.{room}")
    names = set(re.findall(r"`(\w+)`", ROWS[room]))
    assert names == set(getattr(module, "__all__", names))
    assert all(hasattr(module, name) for name in names)


def test_the_names_of_the_package():
    table = PAGE.split("## Namespaces")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    names = {name for cell in cells for name in re.findall(r"`(\w+)", cell)}
    assert names == set(nearsym.__all__) - set(nearsym._ROOMS) - {"__version__"}
