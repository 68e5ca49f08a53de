"""The stretched pattern: how it is drawn, and what of it can be known from the past."""

import itertools

import numpy as np
import pytest

from nearsym.tasks.trading import patterns
from nearsym.tasks.trading.patterns import draw_patterns, knowable, pattern


def test_patterns_are_stretched():
    """Runs of days with a signal are of many lengths, within those of a window."""
    signal = draw_patterns(5000, 1, np.random.default_rng(0))[:, 0] != 0
    borders = np.flatnonzero(np.diff(signal.astype(int)))
    lengths = np.diff(borders)[0 if signal[borders[0] + 1] else 1 :: 2]
    assert {4, 5, 6, 7, 8, 9} <= set(lengths.tolist())


def test_lengths_are_as_probable_as_they_are_drawn():
    rng = np.random.default_rng(0)
    drawn = np.round(patterns.PATTERN * np.exp(rng.uniform(*np.log(patterns.STRETCH), 100_000)))
    chances = patterns._lengths()
    assert sum(chances.values()) == pytest.approx(1)
    for length, chance in chances.items():
        assert np.mean(drawn == length) == pytest.approx(chance, abs=0.006)


def histories(days):
    """Every way in which a stock can spend some days, what it plants there, and its probability."""
    stays = np.exp(-1 / patterns.WAIT)

    def on(planted, chance):
        if len(planted) >= days:
            yield tuple(planted[:days]), chance
            return
        yield from on([*planted, 0.0], chance * stays)
        for length, likely in patterns._lengths().items():
            for sign in patterns.SIGNS:
                ahead = [*planted, *(sign * pattern(length))]
                yield from on(ahead, chance * (1 - stays) * likely / 2)

    return on([], 1.0)


def test_what_is_knowable_is_the_mean_over_all_histories():
    """Bayes' rule over everything that may have happened in six days, term by term."""
    days, strength = 6, 2.0
    returns = np.random.default_rng(1).normal(0, 2, (days, 2))
    known = knowable(returns, strength, 1.0)
    paths = [(strength * np.array(path), chance) for path, chance in histories(days)]
    assert sum(chance for _, chance in paths) == pytest.approx(1)
    for t, stock in itertools.product(range(days), range(2)):
        # r[1], …, r[t] are what e[0], …, e[t − 1] look like; r[0] says nothing.
        seen = returns[1 : t + 1, stock]
        odds = [c * np.exp(-0.5 * ((seen - path[:t]) ** 2).sum()) for path, c in paths]
        mean = np.dot(odds, [path[t] for path, _ in paths]) / sum(odds)
        assert known[t, stock] == pytest.approx(mean, abs=1e-12)


def test_the_past_alone_is_known():
    """What comes later changes nothing, and nothing grows without bounds after extreme days."""
    rng = np.random.default_rng(2)
    returns = rng.normal(0, 1, (50, 3))
    later = returns.copy()
    later[30:] *= 100
    np.testing.assert_array_equal(knowable(returns, 3.0, 1.0)[:30], knowable(later, 3.0, 1.0)[:30])
    assert np.isfinite(knowable(later, 3.0, 1.0)).all()


@pytest.mark.parametrize("strength", [1.0, 3.0])
def test_nothing_that_uses_the_past_is_nearer_to_what_was_planted(strength):
    """A mean given the past has the least square error; shrinking or stretching it adds to it."""
    rng = np.random.default_rng(3)
    planted = strength * draw_patterns(20_000, 2, rng)
    returns = rng.normal(0, 1, planted.shape)
    returns[1:] += planted[:-1]
    known = knowable(returns, strength, 1.0)
    errors = {f: ((planted - f * known) ** 2).mean() for f in (0.0, 0.9, 1.0, 1.1)}
    assert min(errors, key=errors.get) == 1.0
