"""The stretched pattern of planted markets: how it is drawn, and what its past says of tomorrow.

A stock waits, then a pattern ± sin 3πu, 0 < u < 1, runs for some days, and so on:

    n ~ ⌊Exp(4)⌋ days of waiting,   L = round(6·s) days,   log s uniform on [log 0.6, log 1.5]

Whoever sees only prices cannot know where in which pattern a stock is. The best that can be known,
E[e[t] | r[0], …, r[t]], follows exactly: waiting and (L, sign, day) are the states of a hidden
Markov chain, since ⌊Exp⌋ is geometric, and r[t + 1] is e[t] with normal noise.
"""

import numpy as np
from jaxtyping import Float

WAIT, PATTERN, STRETCH = 4.0, 6.0, (0.6, 1.5)
"""Mean of the waiting time before it is cut to whole days, days of a pattern that is not stretched,
and the factors of stretching."""
SIGNS = (-1.0, 1.0)
SMALLEST = 1e-300
"""Of a probability, so that it has a logarithm."""

Days = Float[np.ndarray, "days stocks"]


def pattern(length: int) -> Float[np.ndarray, " length"]:
    """sin 3πu in the middle of each of its days.

    >>> pattern(6).round(2)
    array([ 0.71,  0.71, -0.71, -0.71,  0.71,  0.71])
    """
    return np.sin(3 * np.pi * ((np.arange(length) + 0.5) / length))


def draw_patterns(days: int, stocks: int, rng: np.random.Generator) -> Days:
    """What is planted, in units of its strength."""
    drawn = np.zeros((days, stocks))
    for stock in range(stocks):
        day = 0
        while day < days:
            day += int(rng.exponential(WAIT))
            length = round(PATTERN * np.exp(rng.uniform(*np.log(STRETCH))))
            shape = rng.choice(SIGNS) * pattern(length)
            kept = drawn[day : day + length, stock]
            kept[:] = shape[: len(kept)]
            day += length
    return drawn


def knowable(returns: Days, strength: float, deviation: float) -> Days:
    """E[e[t] | returns up to t], where e is `strength` times what was drawn and the noise has this
    deviation; in the units of the returns."""
    levels, moves, begin = _chain()
    means = strength * levels
    belief = np.tile(begin, (returns.shape[1], 1))  # (stocks, states): of the state of day t
    known = np.empty_like(returns)
    known[0] = belief @ means
    for t in range(1, len(returns)):
        # In logarithms: after an extreme day every likelihood is too small for a number.
        distance = (returns[t][:, None] - means) / deviation
        odds = np.log(np.maximum(belief, SMALLEST)) - 0.5 * distance**2
        belief = np.exp(odds - odds.max(axis=1, keepdims=True))
        belief = belief / belief.sum(axis=1, keepdims=True) @ moves
        known[t] = belief @ means
    return known


def _lengths() -> dict[int, float]:
    """How probable each length is: that of its share of log s."""
    low, high = np.log(STRETCH)
    found = {}
    for length in range(1, round(PATTERN * STRETCH[1]) + 1):
        ends = np.log(np.array([length - 0.5, length + 0.5]) / PATTERN).clip(low, high)
        if ends[1] > ends[0]:
            found[length] = float((ends[1] - ends[0]) / (high - low))
    return found


def _chain() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each state its level of the pattern; the matrix of moves; the states after a pattern."""
    lengths, stays = _lengths(), np.exp(-1 / WAIT)
    runs = [(length, sign) for length in lengths for sign in SIGNS]
    firsts = 1 + np.cumsum([0, *(length for length, _ in runs)])
    levels = np.concatenate([[0.0], *(sign * pattern(length) for length, sign in runs)])
    begin = np.zeros(len(levels))
    begin[0] = stays
    begin[firsts[:-1]] = [(1 - stays) * lengths[length] / len(SIGNS) for length, _ in runs]
    moves = np.eye(len(levels), k=1)  # the next day of the same pattern
    moves[[0, *(firsts[1:] - 1)]] = begin
    return levels, moves, begin
