"""A trader that is told tomorrow's returns gets rich; one that can know nothing does not."""

from dataclasses import replace

import pytest

from nearsym.experiments.config import TaskConfig
from nearsym.experiments.evaluation import evaluate_run, evaluate_shuffled
from nearsym.experiments.presets import preset_config
from nearsym.experiments.run import start

FRAMES = 12_000


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run of the model none, with or without foresight."""
    made = {}

    def train(*, foresight):
        if foresight not in made:
            task = TaskConfig(name="trading", foresight=foresight)
            config = preset_config("laptop", task, "sac", "none")
            training = replace(config.training, frames=FRAMES, eval_every=FRAMES // 4)
            made[foresight] = tmp_path_factory.mktemp("trading") / "run"
            start(replace(config, training=training), made[foresight])
        return made[foresight]

    return train


@pytest.mark.slow
def test_foresight_beats_every_baseline_by_far(trained):
    rows = evaluate_run(trained(foresight=True), episodes=3)["metrics"]
    mean_policy, *baselines = [row["final_value"]["mean"] for row in rows[1:]]
    assert len(baselines) == 5
    assert mean_policy - 1e6 > 3 * (max(baselines) - 1e6)


@pytest.mark.slow
def test_nobody_beats_holding_where_nothing_can_be_known(trained):
    low, _ = evaluate_shuffled(trained(foresight=False), worlds=40)["excess_ci95"]
    assert low < 0


@pytest.mark.slow
def test_foresight_would_be_noticed(trained):
    """The check above can fail: it sees a leak where there is one."""
    low, _ = evaluate_shuffled(trained(foresight=True), worlds=10)["excess_ci95"]
    assert low > 0
