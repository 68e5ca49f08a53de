"""Environments of one's own: found, adapted, built no more often than needed, trusted or not."""

import sys
import types

import gymnasium
import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.groups.declared import Declared
from nearsym.groups.symmetry import Symmetry, symmetry_of
from nearsym.tasks.adapted import Checked, own_spaces
from nearsym.tasks.custom import custom_task, reopened
from nearsym.tasks.registry import find_task, make
from nearsym.tasks.task import Playing, play, returns_of

MIRROR = dihedral(1)
SIGNS = Symmetry(2 * MIRROR.sign(), MIRROR.sign())
OTHER = Symmetry(MIRROR.sign() + MIRROR.trivial(), MIRROR.sign())


class Push(gymnasium.Env):
    """The action is the reward; three steps an episode. Counts how often it is built."""

    built = 0

    def __init__(self, low=-2.0, high=6.0, shape=(2,), dtype=np.float64, action_shape=(1,)):
        Push.built += 1
        images = len(shape) == 3
        self.observation_space = gymnasium.spaces.Box(0 if images else -9, 255, shape, dtype)
        self.action_space = gymnasium.spaces.Box(low, high, action_shape, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 3
        return self.look(), {}

    def look(self):
        space = self.observation_space
        return self.np_random.uniform(0, 9, space.shape).astype(space.dtype)

    def step(self, action):
        self.left -= 1
        return self.look(), float(action[0]), False, self.left == 0, {}


class Shows(Push):
    """Shows what it is told to, whatever its space says."""

    def __init__(self, seen):
        super().__init__(dtype=np.float32)
        self.seen = seen

    def look(self):
        return self.seen


class Declaring(Push):
    symmetry = SIGNS


class Saying(gymnasium.Wrapper):
    """A wrapper that declares a symmetry."""

    symmetry = SIGNS


@pytest.mark.parametrize("seen", [np.array([1.0, 0.1]), [1.0, 0.1]], ids=["double", "list"])
def test_observations_are_shown_in_the_precision_of_their_space(seen):
    env = custom_task(lambda: Shows(seen)).make()
    for obs in (env.reset(seed=0)[0], env.step(env.action_space.sample())[0]):
        assert obs.dtype == np.float32
        assert obs.tolist() == np.float32([1.0, 0.1]).tolist()


@pytest.mark.parametrize(
    ("seen", "said"),
    [(np.zeros(3, np.float32), r"float32 \(3,\)"), (np.array(["a", "b"]), r"<U1 \(2,\)")],
)
def test_observations_that_are_not_in_their_space(seen, said):
    text = rf"Shows shows an observation of the kind {said}, and its observation_space says float32"
    with pytest.raises(UsageError, match=text):
        custom_task(lambda: Shows(seen)).make().reset(seed=0)


@pytest.fixture(autouse=True)
def _count(monkeypatch):
    monkeypatch.setattr(Push, "built", 0)


@pytest.fixture
def module(monkeypatch):
    """A module `pushes` with a factory, and a Gymnasium id."""
    module = types.ModuleType("pushes")
    module.make = Push
    module.Outer = types.SimpleNamespace(make=Push)
    monkeypatch.setitem(sys.modules, "pushes", module)
    monkeypatch.setitem(
        gymnasium.registry,
        "pushes/Push-v0",
        gymnasium.envs.registration.EnvSpec("pushes/Push-v0", entry_point=Push),
    )
    return module


def test_a_gymnasium_id_gets_the_unit_box():
    env = find_task("Pendulum-v1").make()
    assert env.action_space.low.tolist() == [-1.0]
    assert env.action_space.high.tolist() == [1.0]
    env.reset(seed=0)
    assert np.isfinite(env.step(np.array([1.0], np.float32))[1])


def test_actions_reach_the_environment_in_its_own_units():
    env = find_task(Push).make()
    env.reset(seed=0)
    for unit, own in ((-1, -2), (0, 2), (1, 6)):
        assert env.step(np.array([unit], np.float32))[1] == pytest.approx(own)


def test_double_observations_become_single():
    env = find_task(Push).make()
    obs, _ = env.reset(seed=0)
    assert env.observation_space.dtype == np.float32
    assert obs.dtype == np.float32
    assert env.observation_space.contains(obs)


def test_the_units_of_the_author_are_remembered():
    obs, action = own_spaces(find_task(Push).make())
    assert (obs.dtype, action.low[0], action.high[0]) == (np.float64, -2, 6)
    limited = gymnasium.wrappers.RescaleAction(Push(), np.float32(0), np.float32(1))
    assert own_spaces(find_task(lambda: limited).make())[1].low[0] == 0  # what they handed over


def test_what_fits_is_left_as_it_is():
    env = find_task(lambda: Push(-1, 1, dtype=np.float32)).make()
    assert isinstance(env, Checked)
    assert isinstance(env.env, Push)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"dtype": np.float32, "shape": (8, 8, 3)}, "must show images as uint8, got float32"),
        ({"shape": (2, 2)}, r"must observe a vector or an image \(a Box\), got Box"),
        ({"shape": (0,)}, r"may be empty; got actions of the shape \(1,\) and obs.* of \(0,\)"),
        ({"high": np.inf}, r"must take bounded continuous actions \(a Box\), got Box"),
        ({"action_shape": (2, 2)}, r"take actions as a vector.*actions of the shape \(2, 2\)"),
        ({"action_shape": ()}, r"take actions as a vector.*actions of the shape \(\)"),
        ({"action_shape": (0,)}, r"may be empty; got actions of the shape \(0,\)"),
    ],
)
def test_environments_that_will_not_do(options, text):
    with pytest.raises(UsageError, match=text):
        find_task(lambda: Push(**options)).make()


def test_actions_that_are_choices_will_not_do():
    def discrete():
        env = Push()
        env.action_space = gymnasium.spaces.Discrete(3)
        return env

    text = r"must take bounded continuous actions \(a Box\), got Discrete\(3\)"
    with pytest.raises(UsageError, match=text):
        find_task(discrete).make()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (":", "A task of your own is module:factory, got ':'"),
        ("pushes:", "A task of your own is module:factory, got 'pushes:'"),
        ("pushes:mak", "Unknown factory in pushes 'mak'. Did you mean 'make'"),
        ("no_such_module:f", "No module 'no_such_module' for the task"),
        ("pushes/Pull-v0", r"nearsym's own tasks: nearsym\.list_tasks\(\)"),
    ],
)
@pytest.mark.usefixtures("module")
def test_names_that_lead_nowhere(name, text):
    with pytest.raises(UsageError, match=text):
        find_task(name).make()


def test_factories_that_will_not_do():
    with pytest.raises(UsageError, match="called with no arguments: missing a required argument: "):
        find_task(lambda size: Push()).make()
    with pytest.raises(UsageError, match="has to return a Gymnasium environment, got int"):
        find_task(lambda: 3).make()


@pytest.mark.parametrize("name", ["pushes:make", "pushes:Outer.make", "pushes/Push-v0"])
@pytest.mark.usefixtures("module")
def test_names_that_lead_to_an_environment(name):
    assert find_task(name).make().unwrapped.__class__ is Push


def test_the_place_of_a_class_or_a_function_is_its_name():
    def factory():
        return Push()

    assert custom_task(Push).name == f"{__name__}:Push"
    assert custom_task(factory).name.endswith("<locals>.factory")


@pytest.mark.parametrize(
    ("made_by", "symmetry", "found"),
    [
        (Push, None, None),
        (Push, SIGNS, SIGNS),
        (Declaring, None, SIGNS),
        (Declaring, OTHER, OTHER),  # what is given replaces what is declared
        (lambda: Saying(Push()), None, SIGNS),
        (lambda: gymnasium.wrappers.TimeLimit(Saying(Push()), 2), None, SIGNS),
        (lambda: Saying(Push()), OTHER, OTHER),
        (lambda: Declared(Declaring(), OTHER), None, OTHER),
    ],
)
def test_a_symmetry_is_declared_given_or_both(made_by, symmetry, found):
    task = custom_task(made_by, symmetry)
    assert task.traits().symmetric == (found is not None)
    for env in (task.make(), task.make("validation"), task.make_plain(), task.make_for_audit()):
        assert symmetry_of(env) == found


def test_looking_at_an_environment_builds_the_one_to_train_in():
    task = find_task(Push)
    assert task.traits() == task.traits()
    assert Push.built == 1
    varied = find_task(task, symmetry=SIGNS)  # as a configuration does with options
    assert varied.traits().symmetric
    env = varied.make("train")
    assert Push.built == 1
    assert varied.make("validation").unwrapped is not env.unwrapped
    assert varied.make("train").unwrapped is not env.unwrapped
    assert Push.built == 3


def test_what_was_looked_at_is_not_filmed(module):
    spec = gymnasium.registry["pushes/Push-v0"]
    spec.entry_point = lambda render_mode=None: Push()
    task = find_task("pushes/Push-v0")
    task.traits()
    task.make("train", render_mode="rgb_array")
    assert Push.built == 2


def test_a_task_from_a_file_is_opened_by_whom_it_is_handed_to():
    saved = reopened(custom_task("pushes:make", SIGNS), None, trusted=False)
    text = "import the module 'pushes' and call 'make'.*`trust_task=True`.*task=MyEnv"
    for build in (saved.make, saved.make_plain, saved.traits):
        with pytest.raises(UsageError, match=text):
            build()
    assert "pushes" not in sys.modules
    given = reopened(saved, Push, trusted=False)
    assert symmetry_of(given.make()) == SIGNS
    assert given.name == "pushes:make"


@pytest.mark.usefixtures("module")
def test_a_task_from_a_file_is_opened_by_word():
    saved = reopened(custom_task("pushes:make"), None, trusted=False)
    assert reopened(saved, None, trusted=True).make() is not None
    assert reopened(saved, "pushes:make", trusted=False).make() is not None
    with pytest.raises(UsageError, match="was trained on pushes:make, got the `task` other:make"):
        reopened(saved, "other:make", trusted=True)


@pytest.mark.usefixtures("module")
def test_a_gymnasium_id_needs_no_word():
    saved = reopened(custom_task("pushes/Push-v0"), None, trusted=False)
    assert saved.make() is not None


def test_noise_is_the_authors_business():
    with pytest.raises(UsageError, match="`noise` belongs to tasks of nearsym; add it in the env"):
        find_task(Push).with_noise(0.1)


def test_playing_counts_and_tells():
    env, seen, told = find_task(Push).make(), [], []
    playing = Playing(
        episodes=4,
        seed=5,
        sample=True,
        on_step=lambda: seen.append(1),
        on_episode=told.append,
    )
    policy = lambda obs, sample: np.full((len(obs), 1), 0.5 if sample else 0.0)  # noqa: E731
    played = play(policy, env, playing)
    assert told == played
    assert len(seen) == 12
    found = returns_of(played)
    assert found["returns"] == pytest.approx([12.0] * 4)  # three times 4, half way from 2 to 6
    assert (found["return_mean"], found["episodes"]) == (pytest.approx(12.0), 4)


@pytest.mark.parametrize(
    "name", ["sys:exit", "leaving:make", "leaving:later"], ids=["exit", "import", "call"]
)
def test_an_exit_does_not_pass_for_success(name, tmp_path, monkeypatch):
    at_once = "" if name.endswith("later") else "sys.exit(0)"
    text = f"import sys\n{at_once}\ndef make(): ...\ndef later(): sys.exit()\n"
    (tmp_path / "leaving.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "leaving", raising=False)
    with pytest.raises(UsageError, match="asked the program to exit") as error:
        find_task(name).make()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", [".mod:make", "a..b:make", ":make", "os:", "a b:make", "/x:make"])
def test_what_is_no_module_is_not_imported(name):
    with pytest.raises(UsageError, match="A task of your own is module:factory, got "):
        find_task(name).make()


@pytest.mark.parametrize("name", ["/abs/missing", "./runs/x", "runs/a/b", "../x", "a/", "/"])
def test_a_path_is_no_task(name):
    with pytest.raises(UsageError, match="is neither a task nor a run folder: it has no config"):
        find_task(name)
    with pytest.raises(UsageError, match="neither a task nor a run folder"):
        make(name)


def test_a_run_folder_is_no_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "x").mkdir(parents=True)
    (tmp_path / "runs" / "x" / "config.json").touch()
    with pytest.raises(
        UsageError, match=r"is a run folder, not a task: .*`nearsym\.Run\('runs/x'\)\.resume"
    ):
        find_task("runs/x")


@pytest.mark.parametrize("name", ["runs/missing", "x/y-v0", "Pendulum-v99", "Pendulum-v0"])
def test_what_gymnasium_does_not_know_is_one_sentence(name):
    with pytest.raises(UsageError):
        make(name)
