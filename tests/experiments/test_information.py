"""Where nothing can be known, a trained trader does not beat holding."""

from dataclasses import replace

import pytest

from nearsym.experiments.config import TaskConfig
from nearsym.experiments.evaluation import evaluate_shuffled
from nearsym.experiments.presets import preset_config
from nearsym.experiments.run import start

FRAMES = 8000


@pytest.mark.slow
def test_nobody_beats_holding_where_nothing_can_be_known(tmp_path):
    config = preset_config("laptop", TaskConfig(name="trading"), "sac", "none")
    training = replace(config.training, frames=FRAMES, eval_every=FRAMES // 4)
    start(replace(config, training=training), tmp_path / "run")
    low, _ = evaluate_shuffled(tmp_path / "run", worlds=40)["excess_ci95"]
    assert low < 0
