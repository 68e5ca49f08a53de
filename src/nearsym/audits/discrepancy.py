"""How far the two steps of a pair are apart: exactly where they are certain, as laws where not."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from nearsym.audits.coordinates import Coordinates
from nearsym.audits.pairs import Pairs
from nearsym.measures.intervals import Estimate, estimate


class Bracket(NamedTuple):
    """Per sample, estimates from below and from above of the Kantorovich distance of two laws.

    For deterministic dynamics both are the distance itself. From draws X, X' and Y, Y':

        lower = E d(X, Y) − ½ E d(X, X') − ½ E d(Y, Y')
        upper = the cheapest way to match the drawn X with the drawn Y

    The first is unbiased for half the energy distance, which is 0 if and only if the laws agree and
    at most the Kantorovich distance (x → E d(x, Y) is 1-Lipschitz). The second is at least that
    distance on average, because the distance is convex in the laws.
    """

    lower: Float[np.ndarray, "samples"]
    upper: Float[np.ndarray, "samples"]

    def over(self, unit: float) -> "Bracket":
        """The same in another unit."""
        return Bracket(self.lower / unit, self.upper / unit)

    def estimate(self, pairs: Pairs, rng: np.random.Generator) -> Estimate:
        """The mean from below; its interval reaches from the lower end to the upper one's end."""
        lower = estimate(pairs.by_episode(self.lower), rng)
        if not pairs.stochastic:
            return lower
        upper = estimate(pairs.by_episode(self.upper), rng)
        interval = (lower.mean_ci95[0], upper.mean_ci95[1])
        return Estimate(lower.mean, interval, lower.q95, lower.largest, upper.mean)


def reward_bracket(pairs: Pairs, g: int) -> Bracket:
    """|R(gs, ga) − R(s, a)| for element g ≥ 1; the distance of the laws of random rewards."""
    x, y = pairs.reward, pairs.reward_moved[:, g - 1]
    return _bracket(_absolute(x, y), _absolute(x, x), _absolute(y, y))


def transition_bracket(
    pairs: Pairs, coordinates: Coordinates, g: int, scale: np.ndarray | None = None
) -> Bracket:
    """d(g·s'(s, a), s'(gs, ga)) for element g ≥ 1, Euclidean or scaled (see `Coordinates`).

    A pair of which only one step ends the episode is 1 further apart.
    """
    x, y = pairs.moved[:, g - 1], pairs.actual[:, g - 1]
    end_x, end_y = pairs.ended.astype(float), pairs.ended_moved[:, g - 1].astype(float)

    def apart(a: np.ndarray, b: np.ndarray, end_a: np.ndarray, end_b: np.ndarray) -> np.ndarray:
        far = coordinates.distance(a[:, :, None], b[:, None, :], scale)
        return far + _absolute(end_a, end_b)

    return _bracket(apart(x, y, end_x, end_y), apart(x, x, end_x, end_x), apart(y, y, end_y, end_y))


def mean_step(pairs: Pairs, coordinates: Coordinates, scale: np.ndarray) -> float:
    """How far one step takes the state on average, scaled: the unit for relative mismatches."""
    return float(coordinates.distance(pairs.following, pairs.x[:, None], scale).mean())


def _absolute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a[:, :, None] - b[:, None, :])


def _bracket(cross: np.ndarray, within_x: np.ndarray, within_y: np.ndarray) -> Bracket:
    draws = cross.shape[1]
    if draws == 1:
        return Bracket(cross[:, 0, 0], cross[:, 0, 0])
    other = ~np.eye(draws, dtype=bool)  # equal draws share their random numbers
    lower = cross[:, other].mean(axis=1)
    lower = lower - 0.5 * within_x[:, other].mean(axis=1) - 0.5 * within_y[:, other].mean(axis=1)
    matched = [cost[linear_sum_assignment(cost)].mean() for cost in cross]
    return Bracket(lower, np.array(matched))
