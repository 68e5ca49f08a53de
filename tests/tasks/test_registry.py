import sys
import types

import gymnasium as gym
import pytest

import nearsym
from nearsym.errors import UsageError
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.registry import make, register


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType("someones_tasks")
    module.make_env = lambda **options: gym.make("Pendulum-v1", **options)
    module.make_nothing = lambda: 3
    module.number = 5
    monkeypatch.setitem(sys.modules, "someones_tasks", module)
    return module


@pytest.mark.parametrize("task", DOMAINS)
def test_names_and_ids_lead_to_the_same(task):
    register()  # a second time
    by_name, by_id = make(task, obs="state"), gym.make(f"nearsym/{task}-v0", obs="state")
    through_both = make(f"nearsym/{task}-v0", obs="state")
    starts = {env.reset(seed=0)[0].tobytes() for env in (by_name, by_id, through_both)}
    assert len(starts) == 1
    assert by_name.unwrapped.symmetry.group == DOMAINS[task].group
    assert nearsym.make is make


def test_gymnasium_ids_and_factories(module):
    assert make("Pendulum-v1").spec.id == "Pendulum-v1"
    assert make("Pendulum-v1", g=5.0).unwrapped.g == 5.0
    assert make("someones_tasks:make_env", g=4.0).unwrapped.g == 4.0
    assert not hasattr(make("someones_tasks:make_env").unwrapped, "symmetry")


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        (
            "cartpole-swingpu",
            {},
            "Unknown task .* Did you mean 'cartpole-swingup'",
        ),
        ("tradng", {}, "Did you mean 'trading'"),
        ("nearsym/cartpol-swingup-v0", {}, "Did you mean 'cartpole-swingup'"),
        ("Pendulm-v1", {}, "Did you mean: `Pendulum`"),
        ("nowhere/thing-v0", {}, "Tasks of nearsym: acrobot-swingup"),
        ("no_such_module:make", {}, "No module 'no_such_module' for the task"),
        ("someones_tasks:make_evn", {}, "Did you mean 'make_env'"),
        ("someones_tasks:number", {}, "Unknown factory in someones_tasks 'number'"),
        ("someones_tasks:make_nothing", {}, "has to return a Gymnasium environment, got int"),
        ("Pendulum-v1", {"variant": "gravity"}, "variant='gravity' is an option of the control"),
        ("someones_tasks:make_env", {"size": 64}, "size=64 is an option of the control tasks"),
    ],
)
def test_mistakes(module, task, options, message):
    with pytest.raises(UsageError, match=message):
        make(task, **options)


def test_a_factorys_own_missing_import_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import something_not_installed\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_not_installed"):
        make("half_there:make")
