"""Names of a package that are imported when first used."""

import json
import subprocess
import sys

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
