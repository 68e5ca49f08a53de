"""A learner that is told the future gets rich; where nothing can be known, none beats holding."""

import pytest

import nearsym


def trained(folder, frames, **task):
    training = {"eval_every": frames // 8}
    return nearsym.train(
        "trading", model="none", frames=frames, training=training, threads=1, out=folder, **task
    )


@pytest.mark.slow
def test_nobody_beats_holding_where_nothing_can_be_known(tmp_path):
    run = trained(tmp_path / "run", 8000)
    low, _ = run.evaluate_shuffled(worlds=40)["excess_ci95"]
    assert low < 0


@pytest.mark.slow
def test_who_is_shown_tomorrow_leaves_every_baseline_far_behind(tmp_path):
    run = trained(tmp_path / "run", 20_000, foresight=True, max_shares=1000)
    _, mean_policy, *baselines = run.evaluate(episodes=1)["metrics"]
    best = max(row["final_value"]["mean"] for row in baselines)
    assert mean_policy["final_value"]["mean"] > 1.3 * best
    # The check of leaks would have noticed: this one leaks by design.
    low, _ = run.evaluate_shuffled(worlds=20)["excess_ci95"]
    assert low > 0
