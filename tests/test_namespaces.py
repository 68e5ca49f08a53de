"""What each room offers its users: documented by example, and light to import."""

import ast
import importlib
import inspect
import subprocess
import sys

import pytest

DOCUMENTED = ("groups", "layers", "measures", "theory")
LAZY = ("layers", "measures", "networks")


def room(name):
    return importlib.import_module(f"nearsym.{name}")


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_an_example(name):
    without = [n for n in room(name).__all__ if ">>>" not in (getattr(room(name), n).__doc__ or "")]
    assert not without


@pytest.mark.parametrize("name", LAZY)
def test_type_checkers_are_told_the_same_names(name):
    tree = ast.parse(inspect.getsource(room(name)))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    told = {(a.asname, i.module) for i in block.body for a in i.names}
    assert sorted(n for n, _ in told) == room(name).__all__
    assert told == {(n, getattr(room(name), n).__module__) for n in room(name).__all__}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_no_module_hides_a_public_name(name):
    for n in room(name).__all__:
        assert not inspect.ismodule(getattr(room(name), n))
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"nearsym.{name}.{n}")


def test_importing_the_rooms_does_not_import_torch():
    rooms = ", ".join(f"nearsym.{name}" for name in sorted({*DOCUMENTED, *LAZY}))
    program = f"import sys, {rooms}; print('torch' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
