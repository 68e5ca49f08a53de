"""Named coordinates of a simulator's state, and distances between states in them.

Where an environment has a method `coordinates(state) -> {name: number}` it decides
(`HasCoordinates` in `nearsym.protocols`; `HasAngles` and `LocatesCoordinates` say more). Without
one, every floating-point array of the state counts, entry by entry, under names such as "qpos[0]";
whole numbers count as labels, equal or not. Counters, clocks and random states (names with
"random", "rng", "seed", "step", "time", "frame", …) never count.
"""

import re
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.protocols import HasAngles, HasCoordinates, LocatesCoordinates, State, layer_of

Points = Float[np.ndarray, "*#batch coordinates"]

_NOT_PHYSICAL = re.compile(r"random|rng|seed|noise|step|time|clock|count|frame|running|done", re.I)


@dataclass(frozen=True)
class Coordinates:
    """Names of the coordinates, which of them are angles or labels, and where they stand.

    >>> from nearsym.audits.pendulum import MirrorPendulum
    >>> env = MirrorPendulum()
    >>> _ = env.reset(seed=0)
    >>> coordinates = coordinates_of(env, env.get_state())
    >>> coordinates.names, coordinates.angle
    (('angle', 'velocity'), array([ True, False]))
    >>> one, other = np.array([3.0, 0.0]), np.array([-3.0, 0.0])
    >>> float(coordinates.distance(one, other).round(3))  # the short way round
    0.283
    """

    names: tuple[str, ...]
    angle: np.ndarray
    """Which coordinates are equal to themselves mod 2π."""
    label: np.ndarray
    """Which coordinates are labels: two of them are equal (distance 0) or not (distance 1)."""
    places: tuple[tuple[str, int] | None, ...]
    """Key and flat index in the state, where the coordinate is an entry of it."""
    rounding: float
    """What counts as rounding, in parts of a coordinate's spread."""
    read: Any
    """state → array of the coordinates."""

    def of(self, state: State) -> Float[np.ndarray, "coordinates"]:
        """The coordinates of a state, angles in [−π, π)."""
        values = np.asarray(self.read(state), dtype=np.float64)
        return np.where(self.angle, wrap(values), values)

    def difference(self, x: Points, y: Points) -> Points:
        """x − y, the short way round for angles, 0 or 1 for labels."""
        gap = np.asarray(x) - np.asarray(y)
        gap = np.where(self.angle, wrap(gap), gap)
        return np.where(self.label, (gap != 0).astype(float), gap)

    def distance(
        self, x: Points, y: Points, scale: Float[np.ndarray, "coordinates"] | None = None
    ) -> Float[np.ndarray, "*batch"]:
        """The Euclidean distance; with a scale, the root mean square of differences / scale."""
        gap = self.difference(x, y)
        if scale is None:
            return np.asarray(np.linalg.norm(gap, axis=-1))
        return np.asarray(np.sqrt(np.mean((gap / scale) ** 2, axis=-1)))

    def spread(self, x: Float[np.ndarray, "samples coordinates"]) -> np.ndarray:
        """The standard deviation of each coordinate, around the mean direction for angles.

        Labels, and coordinates that never change, get 1.
        """
        direction = np.angle(np.exp(1j * np.where(self.angle, x, 0.0)).mean(axis=0))
        centre = np.where(self.angle, direction, x.mean(axis=0))
        deviation = np.sqrt((self.difference(x, centre) ** 2).mean(axis=0))
        steady = deviation < 1e-12 * np.maximum(1.0, np.abs(x).max(axis=0))
        return np.where(steady | self.label, 1.0, deviation)

    def flipped(self, state: State, i: int) -> dict[str, np.ndarray]:
        """The state with coordinate i negated, where the coordinate is an entry of the state."""
        place = self.places[i]
        assert place is not None
        key, index = place
        changed = np.array(state[key], copy=True)
        changed.reshape(-1)[index] *= -1
        return {**state, key: changed}


def wrap(angle: np.ndarray) -> np.ndarray:
    """An angle, or a difference of angles, brought to [−π, π)."""
    return np.mod(angle + np.pi, 2 * np.pi) - np.pi


def coordinates_of(env: gym.Env, state: State) -> Coordinates:
    """The coordinates in which an environment's states are compared and regions reported."""
    named = layer_of(env, HasCoordinates)
    return coordinates_of_arrays(state) if named is None else _declared(named, state)


def _declared(env: HasCoordinates, state: State) -> Coordinates:
    names = tuple(env.coordinates(state))
    angles = set(env.angles) if isinstance(env, HasAngles) else set()
    places = env.coordinate_places if isinstance(env, LocatesCoordinates) else {}
    if not names or angles - set(names):
        raise UsageError(
            "coordinates(state) must return one number for each name, and `angles` must list some "
            f"of the names; got the names {names} and the angles {sorted(angles)}."
        )
    return Coordinates(
        names,
        np.array([name in angles for name in names]),
        np.zeros(len(names), dtype=bool),
        tuple(places.get(name) for name in names),
        _rounding(state),
        lambda s: [float(v) for v in env.coordinates(s).values()],
    )


def coordinates_of_arrays(state: State) -> Coordinates:
    """Every number of a state as a coordinate, but counters, clocks and random states."""
    names, places, label = [], [], []
    for key, value in state.items():
        array = np.asarray(value)
        if _NOT_PHYSICAL.search(key) or array.dtype.kind not in "fiub":
            continue
        for i in range(array.size):
            names.append(key if array.ndim == 0 else f"{key}[{i}]")
            places.append((key, i))
            label.append(array.dtype.kind != "f")
    if not names:
        raise UsageError(
            f"None of the entries of the state ({', '.join(state)}) is a coordinate. Name arrays "
            "of numbers, or give the environment a method coordinates(state) -> {name: number}."
        )
    return Coordinates(
        tuple(names),
        np.zeros(len(names), dtype=bool),
        np.array(label),
        tuple(places),
        _rounding(state),
        lambda s: [np.asarray(s[key]).reshape(-1)[i] for key, i in places],
    )


def _rounding(state: State) -> float:
    """1e-9 for states in double precision, 1e-5 where any of it is in single precision."""
    dtypes = {np.asarray(v).dtype for k, v in state.items() if not _NOT_PHYSICAL.search(k)}
    return 1e-5 if {np.dtype(np.float32), np.dtype(np.float16)} & dtypes else 1e-9
