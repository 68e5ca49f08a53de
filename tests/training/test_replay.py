"""The replay against a slow, obvious one that keeps whole episodes of whole observations."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.training.replay import Replay

PIXELS = {"obs_shape": (5, 4, 9), "obs_dtype": np.uint8, "frame_stack": 3, "action_size": 2}
VECTOR = {"obs_shape": (3,), "obs_dtype": np.float32, "frame_stack": 1, "action_size": 1}


class Episodes:
    """Random episodes of stacked observations, as an environment would give them."""

    def __init__(self, spec: dict, seed: int):
        self.spec, self.rng = spec, np.random.default_rng(seed)

    def frame(self) -> np.ndarray:
        *space, last = self.spec["obs_shape"]
        shape = (*space, last // self.spec["frame_stack"])
        if self.spec["obs_dtype"] is np.uint8:
            return self.rng.integers(0, 256, shape, np.uint8)
        return self.rng.normal(size=shape).astype(np.float32)

    def episode(self, length: int, terminates: bool):
        """(None, 0, 1, first obs), then (action, reward, discount, next obs) per step."""
        frames = [self.frame()] * self.spec["frame_stack"]
        yield None, 0.0, 1.0, np.concatenate(frames, -1)
        for step in range(1, length + 1):
            frames = [*frames[1:], self.frame()]
            action = self.rng.uniform(-1, 1, self.spec["action_size"]).astype(np.float32)
            reward = float(np.float32(self.rng.normal()))
            discount = 0.0 if terminates and step == length else 1.0
            yield action, reward, discount, np.concatenate(frames, -1)


def feed(replay: Replay, step: tuple) -> None:
    action, reward, discount, obs = step
    if action is None:
        replay.start(obs)
    else:
        replay.add(action, reward, discount, obs)


def brute_force(history: list, capacity: int, stack: int, nstep: int, gamma: float) -> dict:
    """{slot: transition} by walking the history of all steps ever fed, one step at a time."""
    oldest, found = max(0, len(history) - capacity), {}
    starts = [i for i, step in enumerate(history) if step[0] is None]
    for slot, (_, _, _, obs) in enumerate(history[:-1]):
        start = max(s for s in starts if s <= slot)
        if max(start, slot - stack + 1) < oldest or history[slot + 1][0] is None:
            continue
        reward, weight, end = 0.0, 1.0, slot
        while end < slot + nstep and end + 1 < len(history) and history[end + 1][0] is not None:
            end += 1
            reward += weight * history[end][1]
            weight *= gamma * history[end][2]
        found[slot] = (obs, history[slot + 1][0], reward, weight, history[end][3])
    return found


def assert_batch(batch, expected: list) -> None:
    for column, name in enumerate(batch._fields):
        want = torch.from_numpy(np.array([row[column] for row in expected]))
        torch.testing.assert_close(getattr(batch, name), want.to(getattr(batch, name).dtype))


episodes = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=12)


@pytest.mark.parametrize("mapped", [False, True], ids=["memory", "mapped"])
@pytest.mark.parametrize("spec", [PIXELS, VECTOR], ids=["pixels", "vector"])
@given(
    lengths=episodes, capacity=st.integers(8, 60), nstep=st.integers(1, 4), cut=st.integers(0, 9)
)
def test_sampling_equals_brute_force(spec, mapped, tmp_path_factory, lengths, capacity, nstep, cut):
    """Every sampleable slot gives the brute-force transition, and no other slot can be drawn."""
    folder = tmp_path_factory.mktemp("replay") if mapped else None
    source = Episodes(spec, seed=len(lengths))
    replay = Replay(
        capacity=capacity, nstep=nstep, discount=0.9, folder=folder, segment_bytes=1000, **spec
    )
    steps = [step for length, end in lengths for step in source.episode(length, end)]
    history = steps[: max(1, len(steps) - cut)]  # the last episode may still be running
    for step in history:
        feed(replay, step)
    expected = brute_force(history, capacity, spec["frame_stack"], nstep, 0.9)
    assert len(replay) == len(expected)
    if expected:
        slots = np.array(sorted(expected))
        assert_batch(replay._gather(slots), [expected[slot] for slot in slots])
        drawn = replay._sampler.draw(50 * len(slots), np.random.default_rng(0))
        assert set(drawn.tolist()) <= set(expected)


def test_every_transition_is_drawn_equally_often():
    replay, source = Replay(capacity=40, **VECTOR), Episodes(VECTOR, 0)
    for length in (1, 2, 3, 20, 1, 9, 7):
        for step in source.episode(length, terminates=False):
            feed(replay, step)
    drawn = replay._sampler.draw(100_000, np.random.default_rng(0))
    slots, counts = np.unique(drawn, return_counts=True)
    assert len(slots) == len(replay)
    expected = 100_000 / len(slots)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_shapes_types_and_repeatability():
    replay, source = Replay(capacity=30, **PIXELS), Episodes(PIXELS, 0)
    for step in source.episode(20, terminates=True):
        feed(replay, step)
    one = replay.sample(7, np.random.default_rng(1))
    two = replay.sample(7, np.random.default_rng(1))
    assert one.obs.shape == one.next_obs.shape == (7, 5, 4, 9)
    assert one.obs.dtype == torch.uint8
    assert one.action.shape == (7, 2)
    assert one.reward.shape == one.discount.shape == (7,)
    for a, b in zip(one, two, strict=True):
        assert torch.equal(a, b)
        assert a.data_ptr() != b.data_ptr()  # a batch stays as it is when the next one is drawn


def test_termination_stops_the_bootstrap_and_truncation_does_not():
    for ends, want in ((True, 0.0), (False, 0.9)):
        replay, source = Replay(capacity=30, discount=0.9, nstep=3, **VECTOR), Episodes(VECTOR, 0)
        for step in source.episode(1, terminates=ends):
            feed(replay, step)
        assert replay.sample(1, np.random.default_rng(0)).discount.item() == pytest.approx(want)


def test_frames_are_stored_once_and_memory_stays_in_the_window():
    """The paper's 500,000 frames of 85 × 85 fit 11.5 GB, segments and small fields included."""
    shape = {"obs_shape": (85, 85, 9), "obs_dtype": np.uint8, "frame_stack": 3, "action_size": 6}
    replay = Replay(capacity=500_000, **shape)
    segments = -(-replay.capacity // replay._log.length) + 1  # one more while the window moves on
    stored = segments * replay._log.length * replay.layout.itemsize
    assert stored + replay._sampler.nbytes < 11.5e9

    small, source = Replay(capacity=50, segment_bytes=1000, **PIXELS), Episodes(PIXELS, 0)
    for step in source.episode(400, terminates=False):
        feed(small, step)
    live = len(small._log.segments) * small._log.length
    assert live <= small.capacity + 2 * small._log.length


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": 3}, "needs a `capacity` of at least 7 observations, got 3"),
        ({"obs_dtype": np.float64}, "uint8 images or float32 vectors, got float64"),
        ({"obs_shape": (5, 4, 8)}, r"stack of 3 frames, got the shape \(5, 4, 8\)"),
        ({"action_size": 0}, "at least one component, got 0"),
        ({"nstep": 0}, "`nstep` must be at least 1"),
        ({"discount": 1.5}, r"`discount` must lie in \[0, 1\], got 1.5"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(UsageError, match=message):
        Replay(**{"capacity": 30, **PIXELS, **change})


def test_bad_steps_are_refused():
    replay, source = Replay(capacity=30, **PIXELS), Episodes(PIXELS, 0)
    first, (action, _, _, obs) = list(source.episode(1, terminates=False))
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match="holds no transition yet"):
        replay.sample(1, rng)
    with pytest.raises(UsageError, match=r"Call start\(obs\) first"):
        replay.add(action, 0.0, 1.0, obs)
    with pytest.raises(UsageError, match="must repeat one frame"):
        replay.start(obs)
    feed(replay, first)
    with pytest.raises(UsageError, match="holds no transition yet"):
        replay.sample(1, rng)
    with pytest.raises(UsageError, match=r"actions of shape \(2,\), got \(3,\)"):
        replay.add(np.zeros(3), 0.0, 1.0, obs)
    with pytest.raises(UsageError, match="finite action and reward"):
        replay.add(action, float("nan"), 1.0, obs)
    with pytest.raises(UsageError, match="uint8 observations of shape"):
        replay.add(action, 0.0, 1.0, obs.astype(np.float32))
    with pytest.raises(UsageError, match="must share their frames"):
        replay.add(action, 0.0, 1.0, np.roll(obs, 3, axis=-1))
    replay.add(action, 0.0, 0.0, obs)
    with pytest.raises(UsageError, match=r"Call start\(obs\) first"):  # it has terminated
        replay.add(action, 0.0, 1.0, obs)
