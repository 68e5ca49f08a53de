"""Settings of a run, and the refusal of one that cannot learn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.training.config import TrainingConfig, check_learns


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"frames": 0}, "`frames` must be at least 1, got 0"),
        ({"batch_size": 0}, "`batch_size` must be at least 1"),
        ({"eval_every": -5}, "`eval_every` must be at least 1, got -5"),
        ({"frames": 10**20}, "`frames` must be at most 1,000,000,000,000, got 1000"),
        ({"discount": float("nan")}, "`discount` must be a number from 0 to 1, got nan"),
        ({"replay_capacity": "many"}, "`replay_capacity` must be a number"),
        ({"replay": "tape"}, "`replay` must be 'memory' or 'disk', got 'tape'"),
    ],
)
def test_config_refuses(changes, text):
    with pytest.raises(UsageError, match=text):
        TrainingConfig(**changes)


def updates(config, action_repeat):
    """The frames at which the loop would update, step by step."""
    found, frames, step = [], 0, 0
    while frames < config.frames:
        step, frames = step + 1, frames + action_repeat
        if frames >= config.seed_frames and step % config.update_every == 0:
            found.append(frames)
    return found


@given(
    frames=st.integers(1, 40),
    seed_frames=st.integers(0, 40),
    update_every=st.integers(1, 5),
    action_repeat=st.integers(1, 4),
)
def test_refused_exactly_when_no_update_would_come(
    frames, seed_frames, update_every, action_repeat
):
    config = TrainingConfig(frames=frames, seed_frames=seed_frames, update_every=update_every)
    try:
        check_learns(config, action_repeat=action_repeat)
    except UsageError:
        assert updates(config, action_repeat) == []
    else:
        assert updates(config, action_repeat) != []


def test_too_few_frames_are_named():
    with pytest.raises(UsageError) as error:
        check_learns(TrainingConfig(frames=1500, seed_frames=2000))
    assert str(error.value) == (
        "`frames` 1500 ends before the first update: the first 2000 (`training.seed_frames`) only "
        "fill the replay. Ask for more `frames`, or lower `training.seed_frames`."
    )


def test_updates_that_are_too_rare_are_named():
    config = TrainingConfig(frames=30, seed_frames=0, update_every=20)
    check_learns(config)
    with pytest.raises(UsageError, match=r"at frame 40: updates come every 20 agent steps"):
        check_learns(config, action_repeat=2)


@pytest.mark.parametrize("name", ["frames", "update_every", "batch_size", "nstep"])
def test_numbers_of_things_are_whole(name):
    with pytest.raises(UsageError, match=f"`{name}` must be a whole number, got 2.5"):
        TrainingConfig(**{name: 2.5})
