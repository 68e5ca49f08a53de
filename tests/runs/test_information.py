"""A learner that is told the future gets rich; where nothing can be known, none beats holding."""

from dataclasses import replace

import pytest

from nearsym.runs.config import TaskConfig
from nearsym.runs.evaluate import evaluate_run, evaluate_shuffled
from nearsym.runs.presets import preset_config
from nearsym.runs.run import start


def trained(folder, frames, **task):
    config = preset_config("laptop", TaskConfig(name="trading", **task), "sac", "none")
    training = replace(config.training, frames=frames, eval_every=frames // 8)
    start(replace(config, training=training), folder)
    return folder


@pytest.mark.slow
def test_nobody_beats_holding_where_nothing_can_be_known(tmp_path):
    run = trained(tmp_path / "run", 8000)
    low, _ = evaluate_shuffled(run, worlds=40)["excess_ci95"]
    assert low < 0


@pytest.mark.slow
def test_who_is_shown_tomorrow_leaves_every_baseline_far_behind(tmp_path):
    run = trained(tmp_path / "run", 20_000, foresight=True, max_shares=1000)
    _, mean_policy, *baselines = evaluate_run(run, episodes=1)["metrics"]
    best = max(row["final_value"]["mean"] for row in baselines)
    assert mean_policy["final_value"]["mean"] > 1.3 * best
    # The check of leaks would have noticed: this one leaks by design.
    low, _ = evaluate_shuffled(run, worlds=20)["excess_ci95"]
    assert low > 0
