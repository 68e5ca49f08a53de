import subprocess
import sys
import types

import gymnasium as gym
import pytest

import nearsym
from nearsym.errors import UsageError
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.task import ControlTask
from nearsym.tasks.custom import CustomTask
from nearsym.tasks.registry import find_task, is_task, list_tasks, make, options_of, register
from nearsym.tasks.robots.domains import DOMAINS as ROBOTS
from nearsym.tasks.trading.task import TradingTask


@pytest.fixture
def module(monkeypatch):
    module = types.ModuleType("someones_tasks")
    module.make_env = lambda **options: gym.make("Pendulum-v1", **options)
    module.make_nothing = lambda: 3
    module.make_plain = lambda: gym.make("Pendulum-v1")
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
    assert make("Pendulum-v1", max_episode_steps=7).spec.max_episode_steps == 7
    assert make("Pendulum-v1", g=5.0, render_mode="rgb_array").render_mode == "rgb_array"
    assert make("someones_tasks:make_env", g=4.0).unwrapped.g == 4.0
    assert make(module.make_env, g=3.0).unwrapped.g == 3.0
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
        ("nowhere/thing-v0", {}, r"nearsym's own tasks: nearsym\.list_tasks\(\)"),
        ("no_such_module:make", {}, "No module 'no_such_module' for the task"),
        ("someones_tasks:make_evn", {}, "Did you mean 'make_env'"),
        ("someones_tasks:number", {}, "Unknown factory in someones_tasks 'number'"),
        ("someones_tasks:make_nothing", {}, "has to return a Gymnasium environment, got int"),
        (
            "Pendulum-v1",
            {"variant": "gravity"},
            "Pendulum-v1 is called with the options variant: got an unexpected keyword argument",
        ),
        (
            "someones_tasks:make_plain",
            {"size": 64},
            "make_plain is called with the options size: got an unexpected keyword argument",
        ),
        (
            "trading",
            {"variant": "gravity"},
            "`variant` belongs to .*the control tasks and the robots, not to trad",
        ),
        ("trading", {"fil": "close"}, "Unknown option of trading 'fil'. Did you mean 'fill'"),
        ("reacher-hard", {"fill": "close"}, "`fill` belongs to the task trading, not to reacher"),
        ("reacher-hard", {"siz": 5}, "Unknown option of reacher-hard 'siz'. Did you mean 'size'"),
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


def test_control_tasks_take_their_options():
    options = {"obs": "pixels", "size": 37, "frame_stack": 2, "variant": "repeat_action"}
    env = find_task("cartpole-swingup", **options).make()
    assert env.observation_space.shape == (37, 37, 6)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cartpole-swingup", ControlTask),
        ("nearsym/cartpole-swingup-v0", ControlTask),
        ("trading", TradingTask),
        ("nearsym/trading-v0", TradingTask),
        ("Pendulum-v1", CustomTask),
        ("a_module:make", CustomTask),  # nothing is imported before `make`
    ],
)
def test_a_name_stands_for_a_value(name, kind):
    task = find_task(name)
    assert type(task) is kind
    assert is_task(task)
    assert task == find_task(name)
    assert task == find_task(task)


def test_tasks_can_be_varied():
    task = find_task("cartpole-swingup", obs="state")
    other = find_task(task, variant="gravity")
    assert (other.obs, other.variant, task.variant) == ("state", "gravity", None)
    with pytest.raises(UsageError, match="Unknown control task 'cartpole'"):
        ControlTask(name="cartpole")


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("cartpole-swingup", {"fill": "close"}, "`fill` belongs to the task trading, not to cart"),
        (
            "cartpole-swingup",
            {"symmetry": "T"},
            "`symmetry` belongs to the task trading and environments of one's own, not to cartp",
        ),
        ("trading", {"noise": 0.1}, "`noise` belongs to .*the control tasks, not to trading"),
        ("trading", {"symmetry": "R"}, "Unknown symmetry of time 'R'"),
        ("Pendulum-v1", {"obs": "state"}, "`obs` belongs to .*the control tasks, not to Pendulum"),
        ("Pendulum-v1", {"symmetry": "T"}, "is a nearsym.Symmetry, got 'T'"),
        ("Pendulum-v1", {"factory": print}, "Unknown option of Pendulum-v1 'factory'"),
        ("Pendulum-v1", {"trusted": True}, "Unknown option of Pendulum-v1 'trusted'"),
        ("cartpole-swingup", {"variant": "gravty"}, "Did you mean 'gravity'"),
        ("cartpole-swingup", {"variant": [[[]]]}, "`variant` is a text, NAME or NAME=STRENGTH"),
        ("craft", {"variant": 0}, "`variant` is a text, NAME or NAME=STRENGTH, got 0"),
        ("ant", {"variant": 1.5}, "`variant` is a text, NAME or NAME=STRENGTH, got 1.5"),
        ("cartpole-swingup", {"obs": "pixel"}, "Did you mean 'pixels'"),
        ("cartpole", {}, "Unknown task 'cartpole'. Did you mean 'cartpole-swingup'"),
    ],
)
def test_options_that_do_not_fit(task, options, message):
    with pytest.raises(UsageError, match=message):
        find_task(task, **options)


@pytest.mark.parametrize("use", [make, find_task])
def test_an_environment_is_no_task(use):
    with pytest.raises(UsageError, match=r"A task is a name, a class or .* got Pendulum"):
        use(gym.make("Pendulum-v1").unwrapped)
    with pytest.raises(UsageError, match="got int"):
        use(3)


def test_what_a_person_may_give():
    assert options_of(CustomTask) == ("symmetry",)
    assert "name" not in options_of(ControlTask)
    assert [task["name"] for task in list_tasks()] == ["craft", *DOMAINS, *ROBOTS, "trading"]


def test_importing_the_package_needs_no_torch():
    code = "import sys, nearsym; nearsym.list_tasks(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "nearsym" in done.stdout.split()
    assert not {"torch", "mujoco", "dm_control"} & set(done.stdout.split())
