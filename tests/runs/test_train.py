"""Runs in folders: they repeat, resume, stop on request, and refuse what cannot work."""

import json
import math
from dataclasses import replace

import pytest
import torch

from nearsym.errors import RunError, UsageError
from nearsym.runs.build import seeds_of
from nearsym.runs.folder import read_config
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.training.log import read_metrics
from nearsym.training.loop import DivergedError, Interrupted

KINDS = {
    "state, sac": ("cartpole-swingup", "sac", "approx", "state"),
    "pixels, drqv2": ("ball_in_cup-catch", "drqv2", "approx", "pixels"),
}
SUMMARY = {"task", "variant", "model", "agent", "seed", "frames", "seconds", "processor_seconds"}
SUMMARY |= {"best_return", "final_return", "parameters", "run"}


def numbers(folder):
    """Everything that a run wrote down and that must repeat."""
    rows = read_metrics(folder / "metrics.jsonl")
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]


def weights(run, checkpoint="last"):
    agent = run.load_agent(checkpoint)
    parts = [*agent.networks.parts.values(), agent.target_critic]
    return torch.cat([p.flatten() for part in parts for p in part.parameters()])


def reopened(folder):
    """The run in a folder, whose task the tests trust."""
    return Run(folder, trust_task=True)


class StopAt:
    """A request to stop that comes after so many steps of the agent."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self):
        self.left -= 1
        return self.left < 0


def averaging(config, rate):
    return replace(config, algorithm=replace(config.algorithm, policy_average=rate))


@pytest.mark.parametrize("average", [0.0, 0.01])
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_repeats_and_resumes_bit_for_bit(kind, average, small, tmp_path):
    config = averaging(small(*KINDS[kind]), average)
    whole = start_run(config, tmp_path / "whole")
    with pytest.raises(Interrupted, match=r"Stopped and saved at frame \d+\."):
        start_run(config, tmp_path / "cut", stop_requested=StopAt(42))
    assert numbers(tmp_path / "cut") != numbers(tmp_path / "whole")
    again = Run(tmp_path / "cut").resume()
    assert numbers(tmp_path / "cut") == numbers(tmp_path / "whole")
    assert torch.equal(weights(again), weights(whole))
    changing = {"run", "seconds", "processor_seconds"}
    assert {k: v for k, v in again.summary.items() if k not in changing} == {
        k: v for k, v in whole.summary.items() if k not in changing
    }


def test_a_request_to_stop_is_answered_during_an_evaluation_too(small, tmp_path):
    config = small(*KINDS["state, sac"])
    start_run(config, tmp_path / "whole")
    stop = StopAt(50 + 10)  # the evaluation after 50 steps asks after each of its own
    with pytest.raises(Interrupted, match=r"Stopped and saved at frame 400\."):
        start_run(config, tmp_path / "cut", stop_requested=stop)
    assert not any("eval/returns" in row for row in numbers(tmp_path / "cut"))
    Run(tmp_path / "cut").resume()
    assert numbers(tmp_path / "cut") == numbers(tmp_path / "whole")


def test_the_same_seed_repeats_and_another_does_not(small, tmp_path):
    config = small("toys:vector", "drqv2", "exact")
    runs = {
        name: start_run(replace(config, seed=seed), tmp_path / name)
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    }
    assert numbers(tmp_path / "a") == numbers(tmp_path / "b")
    assert torch.equal(weights(runs["a"]), weights(runs["b"]))
    assert numbers(tmp_path / "a") != numbers(tmp_path / "c")


@pytest.mark.parametrize("model", ["none", "approx", "rpp"])
def test_the_folder_of_a_run(model, small, tmp_path):
    folder = tmp_path / "run"
    summary = start_run(small(model=model), folder).summary
    assert set(summary) == SUMMARY
    assert summary == json.loads((folder / "summary.json").read_text())
    assert (summary["frames"], summary["model"], summary["run"]) == (80, model, str(folder))
    assert set(summary["parameters"]) == {"encoder", "actor", "critic", "total"}
    assert read_config(folder) == small(model=model)
    saved = json.loads((folder / "config.json").read_text())
    assert {"python", "torch", "numpy", "nearsym"} <= set(saved["versions"])
    assert any((folder / "tb").iterdir())
    rows = numbers(folder)
    evaluations = [row for row in rows if "eval/return_mean" in row]
    assert [row["frames"] for row in evaluations] == [40, 80]
    for row in evaluations:
        assert row["eval/return_mean"] == pytest.approx(sum(row["eval/returns"]))  # one episode
        relaxed = {k: v for k, v in row.items() if k.startswith("relaxed/")}
        assert bool(relaxed) == (model == "approx")
    assert summary["final_return"] == evaluations[-1]["eval/return_mean"]
    assert summary["best_return"] == max(row["eval/return_mean"] for row in evaluations)


@pytest.mark.parametrize("kind", KINDS)
def test_every_relaxed_weight_is_logged_and_moves(kind, small, tmp_path):
    run = start_run(small(*KINDS[kind]), tmp_path / "run")
    first, last = (row for row in numbers(tmp_path / "run") if "eval/return_mean" in row)
    agent = run.load_agent("last")
    from nearsym.layers.relaxation import relaxed_weights

    expected = {
        f"relaxed/{part}.{name}": weight.tolist()
        for part, network in agent.networks.parts.items()
        for name, weight in relaxed_weights(network).items()
    }
    assert {k: v for k, v in last.items() if k.startswith("relaxed/")} == expected
    assert all(first[name] != last[name] for name in expected)  # no layer is dead


def test_gymnasium_ids_and_images_of_others_train(small, tmp_path):
    start_run(small("Pendulum-v1", model="none", eval_every=80), tmp_path / "pendulum")
    start_run(
        small("toys:images", "drqv2", frames=60, seed_frames=50, eval_every=60), tmp_path / "images"
    )
    assert numbers(tmp_path / "images")[-1]["frames"] == 60


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_a_bad_number_stops_the_run_by_name(what, small, tmp_path):
    with pytest.raises(DivergedError, match=f"{what} is not finite at frame 65"):
        start_run(small(f"toys:bad_{what}"), tmp_path / "run")
    rows = numbers(tmp_path / "run")
    assert rows[-1]["frames"] == 60  # what was logged before is there
    assert reopened(tmp_path / "run").load_agent("last") is not None


@pytest.mark.parametrize("average", [0.0, 0.01])
def test_evaluations_play_the_mean_policy_from_the_same_starts(average, small, tmp_path):
    config = averaging(small(eval_episodes=3), average)
    run = start_run(config, tmp_path / "run")
    agent, env = run.load_agent("last"), run.task.make("validation")
    first = seeds_of(config.seed)["evaluation"]
    expected = []
    for episode in range(3):
        obs, _ = env.reset(seed=first + episode)
        total, done = 0.0, False
        while not done:
            obs, reward, _, done, _ = env.step(agent.policy(obs[None], sample=False)[0])
            total += reward
        expected.append(total)
    logged = [row["eval/returns"] for row in numbers(tmp_path / "run") if "eval/returns" in row]
    assert logged[-1] == expected
    assert logged[0] != expected  # the same starts, another policy


def test_a_bad_observation_stops_an_evaluation_by_name(small, tmp_path):
    with pytest.raises(RunError, match="not finite, in its observation"):
        start_run(small("toys:bad_observation", eval_episodes=4), tmp_path / "run")


def test_a_bad_loss_stops_the_run_by_name(small, tmp_path, monkeypatch):
    from nearsym.agents import by_hand

    monkeypatch.setattr(
        by_hand, "twin_critic_loss", lambda q, target: (q - target).mean() * math.nan
    )
    with pytest.raises(DivergedError, match="critic/loss is not finite"):
        start_run(small(), tmp_path / "run")


def test_weights_that_are_not_finite_are_neither_played_nor_saved(small, tmp_path, monkeypatch):
    from nearsym.agents.sac import SAC

    original = SAC.update

    def update(agent, batch, *, step):
        metrics = original(agent, batch, step=step)
        if step == 80:
            next(agent.networks.actor.parameters()).data[0] = math.nan
        return metrics

    monkeypatch.setattr(SAC, "update", update)
    with pytest.raises(DivergedError, match=r"actor\.\S+ is not finite at frame 80"):
        start_run(small(), tmp_path / "run")
    assert weights(reopened(tmp_path / "run")).isfinite().all()
    evaluated = [r["frames"] for r in numbers(tmp_path / "run") if "eval/return_mean" in r]
    assert evaluated == [40]


def test_a_run_made_elsewhere_is_loaded_on_the_processor(small, tmp_path):
    before = weights(start_run(small(), tmp_path / "run"))
    path = tmp_path / "run" / "config.json"
    path.write_text(path.read_text().replace('"device": "cpu"', '"device": "cuda:97"'))
    assert torch.equal(before, weights(reopened(tmp_path / "run")))


def test_an_environment_with_half_a_state_starts_a_new_episode(small, tmp_path):
    run = start_run(small("toys:half_saved"), tmp_path / "run")
    assert run.resume(frames=120).summary["frames"] == 120


def test_an_existing_folder_is_left_alone(small, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(
        UsageError, match=r"exists already\. Continue it with `nearsym\.Run\('.*'\).* or.*`out`"
    ):
        start_run(small(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


def test_losses_are_logged_though_no_episode_ends(small, tmp_path):
    start_run(small("toys:endless", eval_episodes=1, frames=60, eval_every=30), tmp_path / "run")
    rows = numbers(tmp_path / "run")
    assert [row["frames"] for row in rows] == [30, 60]
    assert "critic/loss" in rows[-1]
    assert "train/return" not in rows[-1]


def test_a_place_that_cannot_be(small, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UsageError, match=r"file/run cannot be made.*Choose another `out`"):
        start_run(small(), tmp_path / "file" / "run")


@pytest.mark.parametrize("name", ["toys:larger", "toys:discrete", "toys:float_images"])
def test_what_cannot_work_leaves_no_folder(name, small, tmp_path):
    with pytest.raises(UsageError):
        start_run(small(name), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_more_frames_than_it_had(small, tmp_path):
    folder = tmp_path / "run"
    run = start_run(small(), folder)
    assert run.resume(frames=120).summary["frames"] == 120
    assert [row["frames"] for row in numbers(folder) if "eval/return_mean" in row] == [40, 80, 120]
    assert read_config(folder).training.frames == 120  # an interrupted extension knows its end
    assert reopened(folder).resume().summary["frames"] == 120


def test_fewer_frames_than_it_has(small, tmp_path):
    run = start_run(small(), tmp_path / "run")
    with pytest.raises(UsageError, match="has done 80 frames already: `frames` 60 is too few"):
        run.resume(60)
    with pytest.raises(UsageError, match=r"`training\.frames` must be int, got '120'"):
        run.resume("120")
    assert read_config(run.path).training.frames == 80


@pytest.mark.parametrize("damage", [b"\xff{", b"", b"[]", b"{}"])
def test_a_finished_run_resumes_to_its_summary(damage, small, tmp_path):
    run = start_run(small(), tmp_path / "run")
    before, first = numbers(run.path), run.summary
    assert run.resume().summary == first  # to the second
    assert numbers(run.path) == before
    (run.path / "summary.json").write_bytes(damage)
    with pytest.raises(
        UsageError, match=r"has not come to its end\. Continue it with `nearsym\.Run"
    ):
        run.summary  # noqa: B018
    assert run.resume().summary["final_return"] == first["final_return"]
    assert numbers(run.path) == before


def test_replay_on_disk_gives_the_same_run(small, tmp_path):
    start_run(small(), tmp_path / "memory")
    start_run(small(replay="disk"), tmp_path / "disk")
    assert numbers(tmp_path / "memory") == numbers(tmp_path / "disk")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "is no run: it has no config.json"),
        ("{", "config.json is damaged"),
        ("[]", "config.json is damaged"),
        ("{}", "config.json is damaged.*config"),
        ('{"config": []}', "config must be an object"),
        ('{"config": {"tsk": 1}}', "unknown entry 'tsk'"),
    ],
)
def test_a_folder_that_is_no_run(content, text, tmp_path):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(UsageError, match=text):
        Run(tmp_path)
