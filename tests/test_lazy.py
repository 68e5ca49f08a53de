"""Names of a package that are imported when first used."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from nearsym.lazy import attach


def test_a_name_comes_from_its_home():
    getter, directory, public = attach("json", {"JSONDecoder": ".decoder", "loads": "json"})
    assert getter("JSONDecoder") is json.JSONDecoder
    assert getter("loads") is json.loads
    assert directory() == public == ["JSONDecoder", "loads"]


def test_an_unknown_name_fails_as_in_any_module():
    getter, _, _ = attach("json", {})
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'nothing'"):
        getter("nothing")


def test_homes_are_not_imported_before_they_are_used():
    code = (
        "import sys; from nearsym.lazy import attach\n"
        "getter, _, _ = attach('json', {'main': '.tool'})\n"
        "assert 'json.tool' not in sys.modules\n"
        "getter('main'); assert 'json.tool' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("room", ["nearsym.agents", "nearsym.training"])
class TestRooms:
    def test_type_checkers_see_the_same_names(self, room):
        package = import_module(room)
        source = Path(package.__file__).read_text(encoding="utf-8")
        seen = re.findall(r"^    from (\S+) import (\w+) as \2$", source, flags=re.MULTILINE)
        assert sorted(name for _, name in seen) == package.__all__ == dir(package)
        for home, name in seen:
            assert getattr(package, name) is getattr(import_module(home), name)

    def test_every_name_has_an_example(self, room):
        package = import_module(room)
        for name in package.__all__:
            shown_at_work = f"{name}(" in package.__doc__
            assert shown_at_work or ">>>" in getattr(package, name).__doc__, name

    def test_importing_it_needs_no_torch(self, room):
        code = f"import sys, {room}; assert 'torch' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)
