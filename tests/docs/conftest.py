"""The scripts that fill pages of the docs, as modules."""

import importlib.util
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def script(request):
    """The script that a test module is about: it is named `test_` and the script."""
    name = request.module.__name__.rpartition(".")[2].removeprefix("test_")
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
