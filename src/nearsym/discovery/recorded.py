"""What recorded transitions suggest, without a simulator: guesses with scores, never proofs.

A quadratic model f of the change and of the reward is fitted to half of the transitions. For a
signed permutation g of observations and actions the other half is predicted twice,

    Δ ≈ f(x, u)   and   gΔ ≈ f(gx, gu),

and its score is how much better the first does: 1 if the moved transitions are as likely as the
recorded ones, towards 0 if they are not. Where the data never went, a model knows nothing, and a
world that is broken there looks symmetric.
"""

import io
import zipfile
import zlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from nearsym.audits.automorphisms import Matcher, Tolerance
from nearsym.errors import UsageError
from nearsym.physics.signed import SignedPermutation
from nearsym.training.allocator import machine_memory
from nearsym.training.untrusted import read_named_text

LOOSE = Tolerance(0.45, 0.15)
"""How alike the effects of entries on each other must be, as far as data can say."""
ALIKE = 2.0
"""By which factor the sizes of two entries may differ and still be each other's images."""
LEAST = 0.2
"""The score from which on a guess is worth a look."""
SIGNS = 10
"""Entries up to which every change of signs is tried."""
FEWEST = 50
MOST_ENTRIES = 100
LARGEST = 1e100
"""Of any number; its square is finite too."""
NAMES = ("obs", "action", "reward", "next_obs")
COPIES = 4
"""Of a file in memory, while it is read."""
BROKEN = (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
"""What an archive that is none, or that is locked, may lead to."""
RIDGE = 1e-6
NOTE = "These are guesses from recorded data, not proofs: audit them before you rely on them."

Vectors = Float[np.ndarray, "samples _"]


@dataclass(frozen=True)
class Guess:
    """A signed permutation that recorded transitions do not contradict."""

    observation: SignedPermutation
    action: SignedPermutation
    score: float
    """How well moved transitions are predicted, next to recorded ones: up to 1."""
    reward_score: float
    """The same for rewards."""

    def as_json(self) -> dict[str, Any]:
        return {
            "score": self.score,
            "reward_score": self.reward_score,
            "observation": self.observation.matrix.tolist(),
            "action": self.action.matrix.tolist(),
        }


@dataclass(frozen=True, repr=False)
class Guesses:
    """All guesses, the best first. Shown, they are a table."""

    guesses: list[Guess]
    transitions: int
    note: str = NOTE

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        found = [guess.as_json() for guess in self.guesses]
        return {"guesses": found, "transitions": self.transitions, "note": self.note}

    def __repr__(self) -> str:
        count = len(self.guesses)
        lines = [f"{count} guess{'' if count == 1 else 'es'} from {self.transitions} transitions."]
        for g in self.guesses:
            lines.append(f"score {g.score:.2f}, of rewards {g.reward_score:.2f}")
            lines += [f"  observation {_said(g.observation)}", f"  action {_said(g.action)}"]
        return "\n".join([*lines, self.note])


def guess_symmetries(
    obs: Vectors | str | Path,
    action: Vectors | None = None,
    reward: Float[np.ndarray, "samples"] | None = None,
    next_obs: Vectors | None = None,
) -> Guesses:
    """Candidates for symmetries from transitions alone: arrays, or a .csv or .npz file of them.

    A file has columns or arrays obs, action, reward and next_obs; in a .csv they are numbered:
    obs_0, obs_1, …, action_0, …, reward, next_obs_0, ….

    >>> rng = np.random.default_rng(0)
    >>> x, u = rng.normal(size=(400, 2)), rng.normal(size=(400, 1))
    >>> following = x @ np.array([[0.9, -0.1], [0.2, 0.8]]) + u @ np.array([[0.0, 0.3]])
    >>> found = guess_symmetries(x, u, -(x**2).sum(axis=1), following)
    >>> [(g.observation.sign.tolist(), round(g.score, 1)) for g in found.guesses]
    [([-1.0, -1.0], 1.0)]
    """
    if isinstance(obs, str | Path):
        obs, action, reward, next_obs = read_transitions(obs)
    data = _Data.of(obs, action, reward, next_obs)
    model = _Model(data)
    scored = [model.score(found) for found in data.candidates()]
    kept = [g for g in scored if g.score >= LEAST and not _is_identity(g)]
    kept.sort(key=lambda g: g.score + g.reward_score, reverse=True)
    return Guesses(kept, len(data.x))


def read_transitions(path: str | Path) -> tuple[Any, Any, Any, Any]:
    """The four arrays of a .npz or .csv file."""
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"There is no file {path}; `discover` reads .csv and .npz.")
    if path.suffix == ".npz":
        return _read_arrays(path)
    if path.suffix == ".csv":
        return _read_table(path)
    raise UsageError(f"Transitions are read from .csv and .npz files, got {path.name}.")


def _read_arrays(path: Path) -> tuple[Any, Any, Any, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > machine_memory() / COPIES:
            raise UsageError(f"{path} holds {size:,} bytes: too many for this machine.")
        with np.load(path, allow_pickle=False) as arrays:
            missing = [name for name in NAMES if name not in arrays]
            if missing:
                raise UsageError(
                    f"{path} has no array {missing[0]!r}: it needs {', '.join(NAMES)}."
                )
            return tuple(np.array(arrays[name]) for name in NAMES)  # type: ignore[return-value]
    except UsageError:
        raise
    except (ValueError, TypeError, EOFError, SyntaxError, MemoryError, *BROKEN) as error:
        raise UsageError(f"{path} is no archive of arrays of numbers.") from error


def _read_table(path: Path) -> tuple[Any, Any, Any, Any]:
    head, _, rows = read_named_text(path).partition("\n")
    header = [column.strip() for column in head.split(",")]
    for name in NAMES:
        _check_column(path, header, name)
    if not rows.strip():
        raise UsageError(f"{path} has no rows.")
    try:
        table = np.loadtxt(io.StringIO(rows), delimiter=",", ndmin=2, comments=None)
    except ValueError as error:
        raise UsageError(f"{path} has a row that is not all numbers: {error}.") from error
    if table.shape[1] != len(header):
        raise UsageError(f"{path} names {len(header)} columns, and its rows have {table.shape[1]}.")
    return tuple(_columns(header, table, name) for name in NAMES)  # type: ignore[return-value]


def _check_column(path: Path, header: list[str], name: str) -> None:
    if name not in header and f"{name}_0" not in header:
        raise UsageError(
            f"{path} has no column {name!r} or '{name}_0': it needs obs_0, obs_1, …, action_0, …, "
            "reward and next_obs_0, …."
        )


def _columns(header: list[str], table: np.ndarray, name: str) -> np.ndarray:
    numbered = [header.index(f"{name}_{k}") for k in range(len(header)) if f"{name}_{k}" in header]
    return table[:, numbered] if numbered else table[:, header.index(name)]


@dataclass(frozen=True)
class _Data:
    x: np.ndarray
    u: np.ndarray
    reward: np.ndarray
    change: np.ndarray

    @classmethod
    def of(cls, obs: Any, action: Any, reward: Any, next_obs: Any) -> "_Data":
        x, u, r, y = map(_numbers, (obs, action, reward, next_obs), NAMES)
        u = u[:, None] if u.ndim == 1 else u
        r = r.reshape(-1)
        if x.ndim != 2 or x.shape != y.shape or not len(x) == len(u) == len(r) or u.ndim != 2:
            raise UsageError(
                "Transitions are `obs` and `next_obs` of shape (samples, entries), `action` of "
                f"shape (samples, entries) and `reward` of shape (samples,); got {x.shape}, "
                f"{y.shape}, {u.shape} and {r.shape}."
            )
        if x.shape[1] + u.shape[1] > MOST_ENTRIES:
            raise UsageError(
                f"`guess_symmetries` fits all products of entries, of at most {MOST_ENTRIES} in "
                f"`obs` and `action` together, got {x.shape[1] + u.shape[1]}."
            )
        if len(x) < FEWEST:
            raise UsageError(
                f"`guess_symmetries` needs at least {FEWEST} transitions, got {len(x)}."
            )
        for name, part in zip(NAMES, (x, u, r, y), strict=True):
            wrong = ~(np.abs(part.reshape(len(x), -1)) <= LARGEST).all(axis=1)
            if wrong.any():
                raise UsageError(
                    f"`guess_symmetries` needs finite numbers of at most {LARGEST:g}; `{name}` has "
                    f"others, first in row {int(np.argmax(wrong))}."
                )
        return cls(x, u, r, y - x)

    def candidates(self) -> list[SignedPermutation]:
        """What keeps a linear model of the changes, among entries of one size; and all changes of
        sign where entries are few, since changes may be products of entries."""
        z = np.concatenate([self.x, self.u], axis=1)
        n, nodes = self.x.shape[1], z.shape[1]
        ones = np.ones((len(z), 1))
        effects = np.linalg.lstsq(np.concatenate([z, ones], axis=1), self.change, rcond=None)[0]
        matrix = np.zeros((nodes, nodes))
        matrix[:n] = effects[:-1].T
        size = np.sqrt((z**2).mean(axis=0)) + 1e-12
        ratio = size[:, None] / size
        kind = np.arange(nodes) < n
        alike = (kind[:, None] == kind) & (ratio < ALIKE) & (ratio > 1 / ALIKE)
        allowed = np.repeat(alike[:, :, None], 2, axis=2)
        found = list(Matcher([matrix], [matrix], allowed, LOOSE).solutions())
        if nodes <= SIGNS:
            flips = product((1.0, -1.0), repeat=nodes)
            found += [SignedPermutation(np.arange(nodes), np.array(signs)) for signs in flips]
        return list({(*p.source.tolist(), *p.sign.tolist()): p for p in found}.values())


def _numbers(values: Any, name: str) -> np.ndarray:
    found = np.asarray(values)
    if found.dtype.kind not in "biuf":
        raise UsageError(f"`{name}` must be an array of real numbers, got {found.dtype}.")
    return found.astype(float)


class _Model:
    """A quadratic model of changes and rewards, fitted to every other transition."""

    def __init__(self, data: _Data):
        self.data, self.n = data, data.x.shape[1]
        z = np.concatenate([data.x, data.u], axis=1)
        self.size = np.sqrt((z**2).mean(axis=0)) + 1e-12
        self.z, self.target = z, np.concatenate([data.change, data.reward[:, None]], axis=1)
        features = self._features(z[::2])
        gram = features.T @ features + RIDGE * len(features) * np.eye(features.shape[1])
        self.weights = np.linalg.solve(gram, features.T @ self.target[::2])
        self.unit = self.target.std(axis=0) + 1e-12
        self.plain = self._errors(z[1::2], self.target[1::2])

    def score(self, move: SignedPermutation) -> Guess:
        n = self.n
        observation = SignedPermutation(move.source[:n], move.sign[:n])
        action = SignedPermutation(move.source[n:] - n, move.sign[n:])
        changes, rewards = self.target[1::2, :n], self.target[1::2, n:]
        target = np.concatenate([observation(changes), rewards], axis=1)
        moved = self._errors(move(self.z[1::2]), target)
        floor = 1e-6
        return Guess(
            observation,
            action,
            min(1.0, float((self.plain[:n].mean() + floor) / (moved[:n].mean() + floor))),
            min(1.0, float((self.plain[n] + floor) / (moved[n] + floor))),
        )

    def _errors(self, z: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Root mean squares of what is not predicted, in standard deviations."""
        gap = (self._features(z) @ self.weights - target) / self.unit
        return np.sqrt((gap**2).mean(axis=0))

    def _features(self, z: np.ndarray) -> np.ndarray:
        scaled = z / self.size
        rows, columns = np.triu_indices(scaled.shape[1])
        second = scaled[:, rows] * scaled[:, columns]
        return np.concatenate([np.ones((len(z), 1)), scaled, second], axis=1)


def _is_identity(guess: Guess) -> bool:
    return guess.observation.is_identity and guess.action.is_identity


def _said(p: SignedPermutation) -> str:
    pairs = zip(p.sign, p.source, strict=True)
    entries = [f"{'+' if s > 0 else '−'}{int(i)}" for s, i in pairs]
    return f"[{', '.join(entries)}]"
