"""Several runs of one model as one result: who is played, on which episodes, what is refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.measures.intervals import student_interval
from nearsym.runs import protocol
from nearsym.runs.build import seeds_of
from nearsym.runs.config import to_plain
from nearsym.runs.one_model import runs_of_one_model
from nearsym.runs.protocol import RunReturns, RunsEvaluation, best_of_runs, mean_over_runs
from nearsym.runs.run import Run
from nearsym.runs.start import start_run
from nearsym.tasks.registry import find_task

ABOUT = {"task": "craft", "variant": "worn", "agent": "sac", "model": "approx"}


@pytest.fixture(scope="module")
def family(tmp_path_factory, trained):
    """Three short runs of one model, with seeds 4, 5 and 6."""
    first = trained("craft", "sac", 240)
    folder = tmp_path_factory.mktemp("family")
    return [start_run(replace(first.config, seed=s), folder / f"seed{s}") for s in (4, 5, 6)]


@pytest.fixture
def copies(family, tmp_path):
    """The same, to be spoiled."""
    for run in family:
        shutil.copytree(run.path, tmp_path / run.path.name)
    return [tmp_path / run.path.name for run in family]


def change(folder, file, **values):
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def change_setting(folder, section, **values):
    path = folder / "config.json"
    content = json.loads(path.read_text())
    content["config"][section] |= values
    path.write_text(json.dumps(content))


@pytest.mark.longer
def test_the_mean_is_that_of_the_runs_one_by_one(family):
    found = mean_over_runs(family, episodes=3)
    alone = [run.evaluate(3) for run in family]
    assert [run.returns for run in found.runs] == [tuple(a["returns"]) for a in alone]
    mean, interval = student_interval([a["return_mean"] for a in alone])
    assert (found.return_mean, found.return_ci95) == (pytest.approx(mean), pytest.approx(interval))
    assert found.played == found.runs


def test_the_last_checkpoints_when_asked(family):
    found = mean_over_runs(family, episodes=2, checkpoint="last")
    alone = [tuple(run.evaluate(2, checkpoint="last")["returns"]) for run in family]
    assert [run.returns for run in found.runs] == alone
    assert found.checkpoint == "last"


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_best_is_chosen_by_training_and_played_afresh(copies, best):
    """What a run earns on the fresh episodes does not matter for the choice."""
    for i, folder in enumerate(copies):
        change(folder, "summary.json", best_return=100.0 if i == best else 50.0 + i)
    found = best_of_runs(copies, episodes=3)
    (chosen,) = found.played
    assert chosen.run == str(copies[best])
    assert chosen.returns == tuple(Run(copies[best]).evaluate(3)["returns"])
    assert found.return_mean == pytest.approx(np.mean(chosen.returns))
    assert found.return_mean != chosen.best_return
    assert found.return_ci95 == student_interval(chosen.returns)[1]
    assert [run.returns for run in found.runs if run is not chosen] == [(), ()]


def test_the_order_of_the_runs_decides_nothing(copies):
    for folder in copies:
        change(folder, "summary.json", best_return=7.0)
    for order in (copies, copies[::-1]):
        (chosen,) = best_of_runs(order, episodes=1).played
        assert chosen.seed == 4


def test_episodes_are_fresh(family):
    """The seeds of the evaluations in training are refused, from either side; others are not."""
    first = seeds_of(family[1].config.seed)["evaluation"]
    count = family[1].config.training.eval_episodes
    for seed in (first - 1, first, first + count - 1):
        for play in (best_of_runs, mean_over_runs):
            with pytest.raises(UsageError, match=f"`seed` {seed} would play episodes that .*seed5"):
                play(family, episodes=2, seed=seed)
    best_of_runs(family, episodes=2, seed=first - 2)
    best_of_runs(family, episodes=2, seed=first + count)


def test_folders_and_runs_are_both_taken(family):
    by_path = mean_over_runs([str(run.path) for run in family], episodes=1)
    assert by_path == mean_over_runs(family, episodes=1)
    one = best_of_runs(family[0].path, episodes=1)
    assert [run.seed for run in one.runs] == [4]


def test_one_bar_for_all_and_silence_otherwise(family, capsys):
    mean_over_runs(family, episodes=2)
    assert capsys.readouterr() == ("", "")
    mean_over_runs(family, episodes=2, progress=True)
    assert "6/6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("section", "values", "text"),
    [
        ("network", {"model": "exact"}, "model is approx in .*seed4 and exact in .*seed5"),
        ("task", {"variant": "worn"}, "variant is None in .*seed4 and worn in .*seed5"),
        ("network", {"hidden": 16}, r"network\.hidden is 32 in .* and 16 in "),
        ("training", {"frames": 9000}, r"training\.frames is 240 in .* and 9000 in "),
        ("algorithm", {"target_tau": 0.5}, r"algorithm\.target_tau is 0\.005 in .* and 0\.5 in "),
    ],
)
def test_runs_of_other_models_are_named(copies, section, values, text):
    change_setting(copies[1], section, **values)
    with pytest.raises(UsageError, match=f"must be of one model, .* seeds different: {text}"):
        best_of_runs(copies)


def test_another_task_and_another_agent_are_named(family, trained):
    other = trained("toys:vector", "sac", 80)
    with pytest.raises(UsageError, match=r"task is craft in .* and toys:vector in "):
        mean_over_runs([family[0], other])
    drawn = trained("craft", "drqv2", 240, obs="state")
    with pytest.raises(UsageError, match=r"agent is sac in .* and drqv2 in "):
        mean_over_runs([family[0], drawn])


def test_where_a_run_was_made_does_not_matter(copies):
    change_setting(copies[1], "training", replay="disk", checkpoint_every=7)
    path = copies[2] / "config.json"
    content = json.loads(path.read_text())
    content["config"] |= {"threads": 2, "precision": "bf16"}
    path.write_text(json.dumps(content))
    assert len(runs_of_one_model(copies)) == 3


def test_a_seed_counts_once(family):
    with pytest.raises(UsageError, match=r"seed4 and .*seed4 both have the seed 4: .* Leave one"):
        mean_over_runs([family[0], family[1], family[0]])


def test_no_runs_and_no_run(tmp_path):
    with pytest.raises(UsageError, match="`runs` must hold at least one run folder, got none"):
        best_of_runs([])
    with pytest.raises(UsageError, match=r"There is no folder .*nowhere\."):
        best_of_runs([tmp_path / "nowhere"])


def test_a_run_that_has_not_ended(copies):
    (copies[2] / "summary.json").unlink()
    with pytest.raises(UsageError, match="seed6 has not come to its end"):
        mean_over_runs(copies)


@pytest.mark.parametrize("noise", [0.1, "task"])
def test_noise_needs_images(family, noise, monkeypatch):
    monkeypatch.setattr(protocol, "evaluate_run", None)  # nothing is played
    with pytest.raises(
        UsageError, match="`noise` is noise on images; this run does not see pixels"
    ):
        best_of_runs(family, noise=noise)


@pytest.mark.longer
def test_noise_of_the_task_and_of_ones_own(trained):
    run = trained("cartpole-swingup", "drqv2", 320, obs="pixels")
    noisy = best_of_runs([run], episodes=1, noise="task")
    assert noisy.noise == 0.06  # cartpole's, in the paper's appendix
    assert noisy == best_of_runs([run], episodes=1, noise=0.06)
    clean, as_trained = best_of_runs([run], episodes=1, noise=0.0), best_of_runs([run], episodes=1)
    assert clean == as_trained
    assert clean.played != noisy.played
    assert run.evaluate(1, noise="task")["noise"] == 0.06


@pytest.mark.parametrize(
    ("noise", "text"),
    [
        ("task", "^`noise='task'` needs a task that names its noise; give a number.$"),
        ("tsk", "^`noise` is a number or 'task', got 'tsk'.$"),
    ],
)
def test_a_task_without_noise_of_its_own(noise, text):
    with pytest.raises(UsageError, match=text):
        find_task("craft", obs="pixels").with_noise(noise)


def test_one_run_has_no_interval_over_runs(family):
    found = mean_over_runs(family[:1], episodes=3)
    assert found.return_ci95 is None
    assert found.as_json()["return_ci95"] is None
    assert "(one run over 3 episodes, which gives no interval over runs)" in repr(found)


RUNS = (
    RunReturns("runs/0", 0, 90.0, (80.0, 84.0)),
    RunReturns("runs/1", 1, 70.0, (60.0, 68.0)),
    RunReturns("runs/2", 2, 75.0, (70.0, 70.0)),
)


def test_what_is_shown_of_a_mean():
    found = RunsEvaluation("mean", ABOUT, RUNS, noise=0.06, checkpoint="best")
    assert repr(found).splitlines() == [
        "craft, worn, sac, approx, noise 0.06: mean over 3 runs",
        # 4.303 · 9.165 / √3 = 22.8 on either side
        "72.0  (95 % interval 49.2 to 94.8, Student's t over 3 runs of 2 episodes)",
        "  seed 0: 82.0  (best evaluation in training 90.0)",
        "  seed 1: 64.0  (best evaluation in training 70.0)",
        "  seed 2: 70.0  (best evaluation in training 75.0)",
    ]


def test_plain_data_survives_json():
    one = (RUNS[0], *(replace(run, returns=()) for run in RUNS[1:]))
    found = RunsEvaluation("best", ABOUT, one, noise=0.0, checkpoint="best").as_json()
    assert json.loads(json.dumps(found)) == found
    assert found["episodes"] == len(found["returns"]) == 2
    assert [run["return_mean"] for run in found["runs"]] == [82.0, None, None]
    assert {name: found[name] for name in ABOUT} == ABOUT


def test_every_setting_is_looked_at(family):
    """A new section of the configuration would have to be compared too."""
    plain = to_plain(family[0].config)
    assert {n for n, v in plain.items() if isinstance(v, dict)} == {
        "task",
        "algorithm",
        "network",
        "training",
    }
