"""Training from Python: any way to name an environment, any setting, nothing built twice."""

import hashlib
import json
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import nearsym
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction, Invariant, Together
from nearsym.groups.catalog import dihedral
from nearsym.groups.symmetry import Symmetry
from nearsym.runs.configure import configure
from nearsym.runs.folder import ChangedWarning
from nearsym.runs.start import start_run
from nearsym.training.callbacks import Callback

MIRROR = dihedral(1)
SIGNS = Symmetry(2 * MIRROR.sign(), MIRROR.sign())
SHORT = {"frames": 80, "seed_frames": 30, "eval_every": 40, "checkpoint_every": 40}
SHORT |= {"discount": 0.99}  # not by the length of an episode, which a wrapper may tell
train = partial(nearsym.train, preset="smoke", training=SHORT, threads=1)


def numbers(run):
    """Everything that a run wrote down and that must repeat."""
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in run.metrics]


WAYS = {
    "class": lambda toys: toys.Counted,
    "factory": lambda toys: lambda: toys.Counted(),
    "partial": lambda toys: partial(toys.Counted, symmetry=False),
    "module:factory": lambda toys: "toys:Counted",
    "Gymnasium id": lambda toys: "toys/Counted-v0",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("symmetry", [None, SIGNS], ids=["none", "given"])
def test_an_environment_is_built_once_to_train_and_once_to_evaluate(way, symmetry, toys, tmp_path):
    run = train(WAYS[way](toys), symmetry=symmetry, out=tmp_path / "run")
    assert (toys.Counted.built, toys.Counted.closed) == (2, 2)
    assert run.config.network.model == ("none" if symmetry is None else "approx")
    run.evaluate(episodes=3)
    assert (toys.Counted.built, toys.Counted.closed) == (3, 3)
    for _ in range(2):
        run.policy(np.zeros(2))
    assert toys.Counted.built == 4
    run.resume(frames=120)
    assert (toys.Counted.built, toys.Counted.closed) == (6, 5)


@pytest.mark.parametrize("made_by", ["counted", "wrapped"])
def test_a_symmetry_may_be_declared_by_the_environment_or_by_a_wrapper(made_by, toys, tmp_path):
    declared = train(getattr(toys, made_by), out=tmp_path / "declared")
    assert declared.config.network.model == "approx"
    assert declared.config.task.symmetry is None
    given = train(toys.Counted, symmetry=SIGNS, out=tmp_path / "given")
    assert numbers(declared) == numbers(given)
    assert declared.relaxed_weights().keys() == given.relaxed_weights().keys() != set()


def test_the_command_and_the_call_are_the_same_run(toys, tmp_path):
    by_name = train("toys:counted", out=str(tmp_path / "name"))
    by_value = train(configure("toys:counted").task, out=tmp_path / "value")
    config = configure("toys:counted", preset="smoke", training=SHORT, threads=1)
    by_config = start_run(config, tmp_path / "config")
    assert numbers(by_name) == numbers(by_value) == numbers(by_config)
    assert by_name.config == by_value.config == by_config.config


def test_a_run_that_could_not_learn_is_refused_before_it_starts(toys, tmp_path):
    text = "`frames` 30 ends before the first update: the first 400 .*only fill the replay"
    with pytest.raises(UsageError, match=text):
        nearsym.train(toys.Counted, preset="smoke", frames=30, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Watching(Callback):
    def __init__(self, last=None):
        self.evaluations, self.checkpoints, self.last = [], [], last

    def on_evaluation(self, progress, metrics):
        self.evaluations.append((progress.frames, metrics["eval/returns"]))
        return progress.frames == self.last

    def on_checkpoint(self, progress, path):
        self.checkpoints.append(path)


def test_callbacks_are_told_and_may_end_a_run(toys, tmp_path):
    watching = Watching()
    run = train(toys.counted, out=tmp_path / "run", callbacks=[watching])
    assert [frames for frames, _ in watching.evaluations] == [40, 80]
    assert [returns for _, returns in watching.evaluations] == run.curve().returns.tolist()
    assert all(path.parent == run.path / "checkpoints" for path in watching.checkpoints)
    ended = train(toys.counted, out=tmp_path / "ended", callbacks=[Watching(last=40)])
    assert ended.summary["frames"] == 40
    assert ended.resume(callbacks=[watching]).summary["frames"] == 80
    assert watching.evaluations[-1][0] == 80


class Meddling(Callback):
    def on_evaluation(self, progress, metrics):
        for name, weights in metrics.items():
            if name.startswith("relaxed/"):
                weights.zero_()


def test_what_a_callback_is_told_are_not_the_weights_themselves(toys, tmp_path):
    run = train(toys.counted, out=tmp_path / "run")
    other = train(toys.counted, out=tmp_path / "other", callbacks=[Meddling()])
    assert numbers(run) == numbers(other)


def test_what_is_no_callback_leaves_no_folder(toys, tmp_path):
    with pytest.raises(UsageError, match=r"`callbacks` takes instances of .*Callback"):
        train(toys.counted, out=tmp_path / "run", callbacks=[print])
    assert not (tmp_path / "run").exists()


def test_a_symmetry_that_cannot_be_saved_leaves_no_folder(toys, tmp_path):
    both = Symmetry(Together(ImageAction(MIRROR, -3, -2), Invariant(MIRROR)), MIRROR.sign())
    with pytest.raises(UsageError, match="A symmetry can be saved if"):
        train(toys.images, symmetry=both, model="none", out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_settings_of_every_section(toys, tmp_path):
    run = nearsym.train(
        toys.counted,
        agent="drqv2",
        model="exact",
        preset="smoke",
        frames=60,
        seed=5,
        out=tmp_path / "run",
        threads=1,
        precision="fp32",
        algorithm={"std_steps": 33},
        network={"hidden": 16},
        training={"seed_frames": 30, "batch_size": 4},
    )
    config = run.config
    assert (config.agent, config.network.model, config.seed) == ("drqv2", "exact", 5)
    assert (config.algorithm.std_steps, config.network.hidden) == (33, 16)
    assert (config.training.frames, config.training.batch_size) == (60, 4)
    assert nearsym.Run(run.path, toys.counted).config == config


def test_folders_are_named_by_what_was_asked_for(toys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = train("toys:Counted")
    assert run.path.parts[0] == "runs"
    with pytest.raises(UsageError, match="exists already"):
        train("toys:Counted")
    other = train("toys:Counted", network={"hidden": 8})
    assert other.path != run.path
    assert {path.name for path in Path().iterdir()} == {"runs"}


@pytest.mark.parametrize("way", ["class", "factory", "partial", "module:factory"])
def test_code_that_has_changed_since_a_run_began(way, toys, tmp_path):
    run = train(WAYS[way](toys), out=tmp_path / "run")
    file = Path(__file__ if way == "factory" else toys.__file__)  # where the function stands
    recorded = json.loads((run.path / "config.json").read_text())["versions"]["environment"]
    assert recorded == hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    run.resume(frames=100)
    config = (run.path / "config.json").read_text()
    (run.path / "config.json").write_text(config.replace(recorded, "0" * 16))
    text = r"The file that defines .* has changed since .*run began; the run continues with the new"
    with pytest.warns(ChangedWarning, match=text):
        run.resume(frames=120)


def test_numbers_of_numpy_are_numbers(toys, tmp_path):
    run = train(toys.Counted, seed=np.int64(3), network={"hidden": np.int32(8)}, out=tmp_path / "a")
    assert (run.config.seed, run.config.network.hidden) == (3, 8)
    assert type(run.config.seed) is type(run.config.network.hidden) is int


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"network": "big"}, r"`network` takes a dict, as in network={'model': …}; got 'big'\."),
        ({"training": 3}, r"`training` takes a dict, as in training={'"),
        ({"learning_rate": 1e-3}, r"learning_rate is a setting of algorithm: give algorithm={'lea"),
        ({"hidden": 8}, r"hidden is a setting of network: give network={'hidden': …}\."),
        ({"callbacks": Callback()}, "`callbacks` is a list, even for one"),
    ],
)
def test_settings_in_the_wrong_place(given, said, toys, tmp_path):
    with pytest.raises(UsageError, match=said):
        nearsym.train(toys.Counted, preset="smoke", **given, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_one_environment_for_both_training_and_evaluation_is_refused(toys, tmp_path):
    one = toys.Counted()
    with pytest.raises(UsageError, match="returned the same environment twice"):
        train(lambda: one, out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_environments_as_objects_are_refused(toys, tmp_path):
    with pytest.raises(UsageError, match="Training needs two environments"):
        train(toys.Counted(), out=tmp_path / "run")
    with pytest.raises(UsageError, match="got TimeLimit"):
        train(gymnasium.wrappers.TimeLimit(toys.Counted(), 3), out=tmp_path / "run")
