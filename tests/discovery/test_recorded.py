"""Guesses from recorded transitions alone."""

import zipfile

import gymnasium as gym
import numpy as np
import pytest

from nearsym.discovery.recorded import NOTE, guess_symmetries
from nearsym.errors import UsageError


@pytest.fixture(scope="module")
def swings():
    """Transitions of a pendulum under random torques."""
    env, rows = gym.make("Pendulum-v1"), []
    rng = np.random.default_rng(0)
    for episode in range(6):
        obs, _ = env.reset(seed=episode)
        for _ in range(200):
            action = rng.uniform(-2, 2, 1).astype(np.float32)
            following, reward, *_ = env.step(action)
            rows.append((obs, action, reward, following))
            obs = following
    return [np.array(part, dtype=float) for part in zip(*rows, strict=True)]


def test_the_mirror_of_a_pendulum_is_the_best_guess(swings):
    found = guess_symmetries(*swings)
    best = found.guesses[0]
    assert best.observation.sign.tolist() == [1, -1, -1]
    assert best.action.sign.tolist() == [-1]
    assert best.score > 0.8
    assert best.reward_score > 0.8
    assert found.note == NOTE
    assert "guesses" in repr(found)
    assert "not proofs" in repr(found)


def test_what_is_broken_scores_less(swings):
    obs, action, reward, following = swings
    pushed = following + np.array([0.0, 0.0, 0.5])
    best = guess_symmetries(obs, action, reward, pushed).guesses
    assert not best or best[0].score < 0.5


def test_files(swings, tmp_path):
    obs, action, reward, following = swings
    expected = [g.score for g in guess_symmetries(*swings).guesses]
    np.savez(tmp_path / "a.npz", obs=obs, action=action, reward=reward, next_obs=following)
    scores = [g.score for g in guess_symmetries(tmp_path / "a.npz").guesses]
    assert scores == pytest.approx(expected, rel=1e-3)
    header = "obs_0,obs_1,obs_2,action_0,reward,next_obs_0,next_obs_1,next_obs_2"
    table = np.concatenate([obs, action, reward[:, None], following], axis=1)
    np.savetxt(tmp_path / "a.csv", table, delimiter=",", header=header, comments="", fmt="%.17g")
    scores = [g.score for g in guess_symmetries(tmp_path / "a.csv").guesses]
    assert scores == pytest.approx(expected, rel=1e-3)


HEADER = "obs_0,action_0,reward,next_obs_0"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("none.csv", None, "There is no file"),
        ("a.csv", "obs_0,action_0,reward\n1,2,3\n", "has no column 'next_obs' or 'next_obs_0'"),
        ("a.csv", f"{HEADER}\nx,1,2,3\n", "has a row that is not all numbers"),
        ("a.csv", f"{HEADER}\n1,2,3\n", r"names 4 columns, and its rows have 3\."),
        ("a.csv", f"{HEADER}\n", r"has no rows\."),
        ("a.csv", "", "has no column 'obs'"),
        ("a.npz", "", r"a\.npz is no archive of arrays of numbers\."),
        ("a.txt", "", r"are read from \.csv and \.npz files, got a\.txt"),
    ],
)
def test_files_that_are_not_transitions(tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        guess_symmetries(tmp_path / name)


def test_shapes_and_numbers():
    x = np.zeros((60, 2))
    with pytest.raises(UsageError, match=r"got \(60, 2\), \(60, 3\), \(60, 1\) and \(60,\)"):
        guess_symmetries(x, np.zeros((60, 1)), np.zeros(60), np.zeros((60, 3)))
    with pytest.raises(UsageError, match="at least 50 transitions, got 20"):
        guess_symmetries(x[:20], np.zeros((20, 1)), np.zeros(20), x[:20])
    wrong = np.where(np.arange(60) == 7, np.nan, 0.0)
    with pytest.raises(UsageError, match=r"finite .*`reward` has others, first in row 7"):
        guess_symmetries(x, np.zeros((60, 1)), wrong, x)


class Spy:
    """Notes that somebody has unpickled it."""

    unpickled = 0

    def __reduce__(self):
        return self.unpickle, ()

    @staticmethod
    def unpickle():
        Spy.unpickled += 1


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (np.array([Spy()] * 60, dtype=object), "is no archive of arrays of numbers"),
        (np.array([["a", "b"]] * 60), "`obs` must be an array of real numbers, got <U1"),
        (np.ones((60, 2), complex), "`obs` must be an array of real numbers, got complex128"),
        (np.full((60, 2), 1e200), "finite numbers"),
        (np.ones((60, 200)), "of at most 100 in `obs` and `action` together, got 201"),
    ],
)
def test_archives_of_something_else(tmp_path, obs, message):
    others = {"action": np.zeros((60, 1)), "reward": np.zeros(60), "next_obs": obs}
    np.savez(tmp_path / "a.npz", obs=obs, **others)
    with pytest.raises(UsageError, match=message):
        guess_symmetries(tmp_path / "a.npz")
    assert not Spy.unpickled


def test_an_archive_that_claims_more_than_it_holds(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for name in ("obs", "action", "reward", "next_obs"):
            with archive.open(f"{name}.npy", "w") as file:
                said = {"descr": "<f8", "fortran_order": False, "shape": (2 * 10**10, 2)}
                np.lib.format.write_array_header_1_0(file, said)
    with pytest.raises(UsageError, match="is no archive of arrays of numbers"):
        guess_symmetries(tmp_path / "a.npz")
