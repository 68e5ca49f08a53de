"""`nearsym train`, from options to a run folder."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from nearsym.cli import train
from nearsym.cli.parse import parse
from nearsym.errors import UsageError
from nearsym.training.log import read_metrics

KEYS = {"task", "variant", "model", "agent", "seed", "frames", "seconds", "processor_seconds"}
KEYS |= {"best_return", "final_return", "parameters", "run"}
QUICK = ["--preset", "smoke", "--frames", 480, "--eval-every", 480, "--eval-episodes", 1]
CARTPOLE = ["train", "cartpole-swingup"]

MISTAKES = {
    "mistyped task": (["train", "cartpol"], "Did you mean 'cartpole-swingup'?"),
    "mistyped task with options": (
        ["train", "cartpole_swingup", "--obs", "state"],
        "Did you mean 'cartpole-swingup'?",
    ),
    "mistyped command": (["trian"], "Did you mean 'train'?"),
    "mistyped option": ([*CARTPOLE, "--modle", "none"], "Did you mean '--model'?"),
    "mistyped model": ([*CARTPOLE, "--model", "aprox"], "Did you mean 'approx'?"),
    "mistyped preset": ([*CARTPOLE, "--preset", "smok"], "Did you mean 'smoke'?"),
    "mistyped agent": ([*CARTPOLE, "--agent", "drqv1"], "Did you mean 'drqv2'?"),
    "mistyped variant": ([*CARTPOLE, "--variant", "gravty"], "Did you mean 'gravity'?"),
    "no task": (["train"], "Name a task to train on"),
    "sit without pixels": (
        [*CARTPOLE, "--obs", "state", "--model", "sit"],
        "--model sit reads pixels",
    ),
    "sac with pixels": (
        [*CARTPOLE, "--agent", "sac", "--obs", "pixels"],
        "SAC reads vectors, and this task shows images: use --agent drqv2, or --obs state",
    ),
    "steerable with state": (
        [*CARTPOLE, "--obs", "state", "--layers", "steerable"],
        "--layers steerable reads pixels: use --obs pixels",
    ),
    "a size without pixels": (
        [*CARTPOLE, "--obs", "state", "--size", 61],
        "--size is about images: use it with --obs pixels",
    ),
    "background without pixels": (
        [*CARTPOLE, "--obs", "state", "--background"],
        "--background is about images",
    ),
    "steerable sit": (
        [*CARTPOLE, "--model", "sit", "--layers", "steerable"],
        "--layers steerable needs a group; the model sit has none",
    ),
    "relax in trading": (
        ["train", "trading", "--model", "approx", "--relax", "output"],
        "--layers and --relax are about groups of images",
    ),
    "foresight elsewhere": ([*CARTPOLE, "--foresight"], "--foresight belongs to the task trading"),
    "a size between": ([*CARTPOLE, "--size", 64], "got 64. The nearest are 61 and 67."),
    "a small size": ([*CARTPOLE, "--size", 20], "37 px or more, got 20"),
    "a size for sit": (
        [*CARTPOLE, "--model", "sit", "--size", 15],
        "--size must be 16 or more, got 15.",
    ),
    "a readout for another model": (
        [*CARTPOLE, "--network.sit-readout", "equivariant"],
        "--network.sit-readout belongs to the model sit, not to approx",
    ),
    "an unknown readout": (
        [*CARTPOLE, "--model", "sit", "--network.sit-readout", "mirrored"],
        "Choose from: broken, equivariant.",
    ),
    "filters with exact": (
        [*CARTPOLE, "--model", "exact", "--filters", 2],
        "--filters belongs to the model approx, not to exact",
    ),
    "relax with steerable": (
        [*CARTPOLE, "--layers", "steerable", "--relax", "output"],
        "--relax is about group layers",
    ),
    "relax with none": (
        [*CARTPOLE, "--model", "none", "--relax", "output"],
        "--relax belongs to the model approx, not to none",
    ),
    "noise without pixels": (
        [*CARTPOLE, "--obs", "state", "--noise", 0.1],
        "--noise is about images: use it with --obs pixels",
    ),
    "negative noise": ([*CARTPOLE, "--noise", -0.1], "standard deviation from 0 to 10, got -0.1"),
    "shares elsewhere": ([*CARTPOLE, "--max-shares", "5"], "--max-shares belongs to the task"),
    "no shares": (
        ["train", "trading", "--max-shares", "0"],
        "--max-shares must be at least 1, got 0",
    ),
    "trading option": ([*CARTPOLE, "--data", "x.csv"], "--data belongs to the task trading"),
    "no update": ([*CARTPOLE, "--frames", 1500], "--frames 1500 ends before the first update"),
    "no frames": ([*CARTPOLE, "--frames", 0], "--frames must be at least 1, got 0"),
    "no threads": ([*CARTPOLE, "--threads", 0], "--threads must be at least 1, got 0"),
    "negative seed": ([*CARTPOLE, "--seed", -1], "--seed must be at least 0, got -1"),
    "unknown device": ([*CARTPOLE, "--device", "gpu"], "A device is cpu or cuda"),
    "frames as a fraction": (
        [*CARTPOLE, "--frames", "1e5"],
        "--frames needs a whole number, got '1e5'.",
    ),
    "gymnasium id that does not exist": (["train", "NoSuch-v0"], "NoSuch doesn't exist"),
    "discrete actions": (["train", "CartPole-v1"], "bounded continuous actions"),
    "no symmetry declared": (
        ["train", "Pendulum-v1", "--model", "exact"],
        "needs a symmetry, and this environment declares none",
    ),
    "variant elsewhere": (
        ["train", "Pendulum-v1", "--variant", "gravity"],
        "--variant belongs to the task craft, the control tasks and the robots, not to Pendulum-v1",
    ),
    "a size between, by Gymnasium's id": (
        ["train", "nearsym/cartpole-swingup-v0", "--size", 64],
        "The nearest are 61 and 67.",
    ),
    "no days to validate on": (
        ["train", "trading", "--split", "2018-01-01,2018-01-03"],
        "validation",
    ),
    "no such module": (["train", "nowhere:make"], "No module 'nowhere'"),
    "no such run": (["train", "--resume", "nowhere"], "There is no folder nowhere."),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_nothing(mistake, command, tmp_path):
    argv, text = MISTAKES[mistake]
    result = command(*argv)
    assert result.code == 2
    assert text in result.err
    assert result.err.startswith("nearsym: ")
    assert result.err.count("\n") == 1
    assert result.out == ""
    assert list(tmp_path.iterdir()) == []


IMAGES = """
import gymnasium, numpy as np

class Noise(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 255, (37, 37, 3), np.uint8)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.low, {}
"""


def test_an_environment_of_images_gets_the_agent_that_reads_them(tmp_path, monkeypatch):
    (tmp_path / "my_images.py").write_text(IMAGES)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert config("my_images:Noise").agent == "drqv2"
    assert config("Pendulum-v1").agent == "sac"


def new_run(*words):
    """Folder and configuration of the run that a command line asks for."""
    asked = parse("nearsym", "", {"train": train.command}, ["train", *map(str, words)])
    return train._new_run(asked.command)


def config(task="cartpole-swingup", *words):
    return new_run(task, *words)[1]


DIFFERENT = [
    [],
    ["--layers", "steerable"],
    ["--noise", 0.1],
    ["--noise", 0.2],
    ["--preset", "smoke"],
    ["--filters", 3],
    ["--relax", "output"],
    ["--size", 61],
    ["--background"],
    ["--seed", 1],
    ["--model", "exact"],
    ["--variant", "gravity"],
    ["--training.batch-size", 77],
]


def test_runs_that_differ_have_folders_that_differ():
    assert len({new_run("cartpole-swingup", *words)[0] for words in DIFFERENT}) == len(DIFFERENT)
    longer = new_run("cartpole-swingup", "--frames", 7777)[0]
    assert longer == new_run("cartpole-swingup")[0], "a longer run is the same run, gone on with"


def test_train_and_evaluate_with_json(command):
    result = command(*CARTPOLE, "--obs", "state", *QUICK, "--out", "run", "--json")
    assert result.code == 0
    assert set(result.json) == KEYS
    assert (result.json["task"], result.json["agent"]) == ("cartpole-swingup", "sac")
    assert (result.json["model"], result.json["variant"]) == ("approx", None)
    assert (result.json["frames"], result.json["run"]) == (480, "run")
    assert "parameters: encoder 0" in result.err
    for row in read_metrics(Path("run/metrics.jsonl")):
        parts = {key.partition("/")[0] for key in row}
        assert parts <= {"frames", "train", "eval", "relaxed", "time", "critic", "actor"}

    evaluated = command("eval", "run", "--episodes", 2, "--json")
    assert evaluated.code == 0
    assert set(evaluated.json) >= {"return_mean", "return_ci95", "returns", "episodes", "noise"}
    assert evaluated.json["episodes"] == 2
    shown = command("eval", "run", "--episodes", 2)
    assert "95 % interval" in shown.out

    again = command(*CARTPOLE, "--obs", "state", *QUICK, "--out", "run")
    assert again.code == 2
    said = (
        "run exists already. Continue it with nearsym train --resume run, or choose another --out"
    )
    assert said in again.err

    other = command("train", "--resume", "run", "--model", "exact")
    assert other.code == 2
    assert "--resume takes everything from the run's config.json; leave out --model" in other.err

    shorter = command("train", "--resume", "run", "--frames", 80)
    assert shorter.code == 2
    assert "run has done 480 frames already: --frames 80 is too few" in shorter.err

    longer = command("train", "--resume", "run", "--frames", 560, "--json")
    assert longer.code == 0
    assert longer.json["frames"] == 560


@pytest.mark.longer
@pytest.mark.parametrize(
    "options",
    [
        ["--model", "sit"],
        ["--model", "sit", "--network.sit-readout", "equivariant"],
        ["--layers", "steerable", "--precision", "bf16"],
        ["--model", "rpp", "--variant", "repeat_action=0.5", "--noise", "0.02"],
        ["--filters", "2", "--relax", "output"],
    ],
    ids=" ".join,
)
def test_pixels_in_every_form(options, command):
    short = ["--preset", "smoke", "--frames", 416, "--eval-every", 416, "--eval-episodes", 1]
    result = command(*CARTPOLE, *options, *short, "--json")
    assert result.code == 0
    assert result.json["agent"] == "drqv2"
    assert Path(result.json["run"]).parent == Path("runs")


def test_what_people_see(command):
    result = command("train", "Pendulum-v1", "--preset", "smoke", "--frames", 480, "--out", "run")
    assert result.code == 0
    assert result.out.startswith("Done: 480 frames in")
    assert "nearsym eval run" in result.out
    assert "Training: Pendulum-v1, sac, none" in result.err


def test_defaults_follow_each_other():
    pixels, state = config(), config("cartpole-swingup", "--agent", "sac")
    assert (pixels.agent, pixels.task.obs, pixels.network.model) == ("drqv2", "pixels", "approx")
    assert (state.agent, state.task.obs) == ("sac", "state")
    assert config("cartpole-swingup", "--obs", "state").agent == "sac"
    assert config("cartpole-swingup", "--obs", "state", "--agent", "drqv2").agent == "drqv2"
    assert config("Pendulum-v1").agent == "sac"


def test_options_reach_the_configuration():
    words = "--variant gravity=0.5 --model approx --filters 3 --layers steerable --size 61"
    words += " --noise 0.06 --background --preset paper --frames 123456 --seed 7 --threads 2"
    words += " --precision bf16 --replay disk --eval-every 11 --eval-episodes 12"
    found = config("cartpole-swingup", *words.split())
    task = asdict(found.task)
    assert (task["variant"], task["size"], task["noise"]) == ("gravity=0.5", 61, 0.06)
    assert task["background"]
    network = found.network
    assert (network.filters, network.layers) == (3, "steerable")
    assert config("cartpole-swingup", "--relax", "output").network.relax == "output"
    training = found.training
    assert (training.frames, training.replay) == (123456, "disk")
    assert (training.eval_every, training.eval_episodes) == (11, 12)
    assert (found.seed, found.threads, found.precision) == (7, 2, "bf16")
    assert found.preset == "paper"


def test_every_setting_has_a_dotted_name():
    words = "--training.batch-size 64 --algorithm.learning_rate 3e-4 --network.hidden=96"
    words += " --training.nstep 2 --task.size 61 --network.rpp-actor 1e-5 1e-4"
    found = config("cartpole-swingup", *words.split())
    assert (found.training.batch_size, found.training.nstep) == (64, 2)
    assert found.algorithm.learning_rate == 3e-4
    assert (found.network.hidden, found.network.rpp_actor) == (96, (1e-5, 1e-4))
    assert found.task.size == 61


def test_the_task_may_stand_anywhere():
    words = ["--training.batch-size", 64, "--background", "cartpole-swingup", "--seed", 3]
    found = new_run(*words)[1]
    assert (found.task.name, found.seed, found.task.background) == ("cartpole-swingup", 3, True)


def test_settings_from_a_file(tmp_path):
    from nearsym.runs.config import to_plain

    first = config("cartpole-swingup", "--obs", "state", "--network.hidden", 40, "--seed", 5)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"config": to_plain(first)}))
    assert new_run("--config", path)[1] == first
    again = new_run("--config", path, "--seed", 6, "--model", "exact", "--network.hidden", 41)[1]
    assert (again.seed, again.network.model, again.network.hidden) == (6, "exact", 41)
    assert again.network.relaxed_from == 0  # what approx had is not exact's
    path.write_text(json.dumps({"config": to_plain(again)}))
    back = new_run("--config", path, "--model", "approx")[1]
    assert back.network.relaxed_from == first.network.relaxed_from > 0
    at_once = replace(first, network=replace(first.network, relaxed_from=0))
    path.write_text(json.dumps({"config": to_plain(at_once)}))
    assert new_run("--config", path)[1] == at_once != first
    path.write_text(json.dumps({"network": {"relaxed_from": 7}}))
    with pytest.raises(UsageError, match="belongs to the model approx, not to none"):
        config("reacher-hard", "--config", path, "--model", "none")
    path.write_text(json.dumps({"trainig": {"batch_size": 9}}))
    with pytest.raises(UsageError, match=r"unknown entry 'trainig'. Did you mean 'training'"):
        config("reacher-hard", "--config", path)
    path.write_text(json.dumps({"training": {"batch_size": 9}}))
    assert config("reacher-hard", "--config", path).training.batch_size == 9


def test_a_file_does_not_decide_what_is_imported(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "my_payload.py").write_text(IMAGES)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"task": {"kind": "custom", "name": "my_payload:Noise"}}))
    with pytest.raises(UsageError, match="would import my_payload:Noise: name the task yourself"):
        new_run("--config", path)
    assert "my_payload" not in sys.modules
    assert new_run("--config", path, "--trust-task")[1].agent == "drqv2"
    assert config("my_payload:Noise", "--config", path).agent == "drqv2"


def test_a_finished_run_says_so_and_a_moved_one_where_it_is(command, tmp_path):
    command(*CARTPOLE, "--obs", "state", *QUICK, "--out", "run")
    (tmp_path / "run").rename(tmp_path / "moved here")
    again = command("train", "--resume", "moved here")
    assert again.code == 0
    assert "nearsym: moved here was finished already. --frames N trains it further." in again.err
    assert "nearsym eval 'moved here'   or" in again.out


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path, command):
    run = tmp_path / "run"
    words = [*CARTPOLE, "--obs", "state", "--preset", "smoke", "--frames", "1000000"]
    script = "from nearsym.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words, "--out", str(run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        deadline = time.monotonic() + 120
        metrics = run / "metrics.jsonl"
        while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert out == ""
    last = err.strip().splitlines()[-1]
    assert last.startswith("nearsym: Stopped and saved at frame ")
    assert last.endswith(f"Continue with: nearsym train --resume {run}")
    assert "Traceback" not in err
    frames = int(last.partition("at frame ")[2].partition(".")[0])
    resumed = command("train", "--resume", run, "--frames", frames + 80, "--json")
    assert resumed.json["frames"] == frames + 80
    assert f"Continuing at frame {frames}" in resumed.err


def test_a_file_of_prices_is_found_from_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config("trading", "--data", "mine.csv").task.data == str(tmp_path / "mine.csv")


@pytest.mark.parametrize("model", ["none", "exact", "approx", "rpp", "augment", "mirror"])
def test_the_whole_configuration_of_a_run_of_any_model_is_a_file_of_settings(model, tmp_path):
    from nearsym.runs.config import to_plain

    first = new_run("craft", "--preset", "smoke", "--model", model)[1]
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"config": to_plain(first)}))
    assert new_run("--config", path)[1] == first
