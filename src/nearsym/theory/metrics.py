"""Distances between distributions as suprema over test functions, and their Minkowski functionals.

An integral probability metric is d_F(μ, ν) = sup_{f ∈ F} |∫f dμ − ∫f dν|. For any f,
|∫f dμ − ∫f dν| ≤ ρ_F(f) · d_F(μ, ν), where ρ_F(f) is the least factor that brings f, up to a
constant (which the difference does not see), into F.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError

Laws = Float[np.ndarray, "*batch states"]


@runtime_checkable
class Metric(Protocol):
    """A distance between distributions on finitely many states, with its ρ.

    >>> isinstance(TotalVariation(), Metric)
    True
    """

    def distance(self, mu: Laws, nu: Laws) -> Float[np.ndarray, "*batch"]: ...

    def rho(self, f: Float[np.ndarray, "states"]) -> float: ...


@dataclass(frozen=True)
class TotalVariation:
    """F = {f : |f| ≤ 1}, as in the paper: d(μ, ν) = Σ_s |μ(s) − ν(s)|, without a factor ½.

    ρ(f) = ½ (max f − min f): subtracting the middle of the range leaves ‖f‖∞ = ½ span.

    >>> TotalVariation().distance(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    array(2.)
    """

    def distance(self, mu: Laws, nu: Laws) -> Float[np.ndarray, "*batch"]:
        return np.asarray(np.abs(np.asarray(mu) - np.asarray(nu)).sum(-1))

    def rho(self, f: Float[np.ndarray, "states"]) -> float:
        return 0.5 * float(np.max(f) - np.min(f))


class Kantorovich:
    """F = {f : |f(s) − f(s')| ≤ ground[s, s']}: the cost of moving one distribution to the other.

    d(μ, ν) = min Σ π(s, s') ground[s, s'] over couplings π of μ and ν, solved as a linear program
    (HiGHS, relative tolerance 1e-9); ρ(f) is the Lipschitz constant of f. Mass that both
    distributions share stays where it is, which is optimal because the ground distance is a metric.

    >>> line = Kantorovich(euclidean(np.array([[0.0], [1.0], [3.0]])))
    >>> line.distance(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, 0.5])).round(6)
    np.float64(2.0)
    """

    def __init__(self, ground: Float[np.ndarray, "states states"]):
        self.ground = np.array(ground, dtype=np.float64)
        _check_metric(self.ground)

    def distance(self, mu: Laws, nu: Laws) -> Float[np.ndarray, "*batch"]:
        excess = np.asarray(mu, dtype=np.float64) - np.asarray(nu, dtype=np.float64)
        rows = excess.reshape(-1, excess.shape[-1])
        if rows.shape[1] != len(self.ground):
            raise UsageError(
                f"The ground metric is over {len(self.ground)} states, "
                f"the distributions over {rows.shape[1]}."
            )
        distances = np.zeros(len(rows))
        moved = np.flatnonzero(np.abs(rows).max(axis=1) > 1e-15)
        if len(moved):
            distances[moved] = _transport(rows[moved], self.ground)
        return distances.reshape(excess.shape[:-1])

    def rho(self, f: Float[np.ndarray, "states"]) -> float:
        f = np.asarray(f, dtype=np.float64)
        off = ~np.eye(len(f), dtype=bool)
        slopes = np.abs(f[:, None] - f)[off] / self.ground[off]
        return float(slopes.max(initial=0.0))


def euclidean(points: Float[np.ndarray, "states *dims"]) -> Float[np.ndarray, "states states"]:
    """The Euclidean distances between points, one for each state: the usual ground metric.

    >>> euclidean(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[0., 5.],
           [5., 0.]])
    """
    points = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
    return np.linalg.norm(points[:, None] - points, axis=-1)


def _transport(excess: Float[np.ndarray, "batch states"], ground: np.ndarray) -> np.ndarray:
    """Optimal cost of moving surplus to deficit for each row; one program with a block per row.

    Each row is scaled to move a mass of 1, so that tiny differences are solved as well as large
    ones, and its largest demand is left out: it follows from the others but for rounding, which
    must not make the program infeasible.
    """
    from scipy import optimize, sparse  # half a second, which only this metric needs

    scale = np.maximum(excess, 0).sum(axis=1)
    supply, demand = np.maximum(excess, 0), np.maximum(-excess, 0)
    supply, demand = supply / scale[:, None], demand / demand.sum(axis=1, keepdims=True)
    row, source, sink = np.nonzero((supply[:, :, None] > 0) & (demand[:, None, :] > 0))
    leaving = _numbered(supply > 0)
    needed = demand > 0
    needed[np.arange(len(excess)), np.argmax(demand, axis=1)] = False
    arriving = np.where(needed, _numbered(needed) + (supply > 0).sum(), -1)
    variable = np.arange(len(row))
    counted = arriving[row, sink] >= 0
    rows = np.concatenate([leaving[row, source], arriving[row, sink][counted]])
    columns = np.concatenate([variable, variable[counted]])
    solved = optimize.linprog(
        ground[source, sink],
        A_eq=sparse.csr_array((np.ones(len(rows)), (rows, columns))),
        b_eq=np.concatenate([supply[supply > 0], demand[needed]]),
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if not solved.success:
        raise ArithmeticError(f"The transport program was not solved: {solved.message}")
    cost = np.bincount(row, weights=ground[source, sink] * solved.x, minlength=len(excess))
    return scale * cost


def _numbered(mask: np.ndarray) -> np.ndarray:
    """The true entries of a mask numbered 0, 1, … in reading order."""
    return (np.cumsum(mask) - 1).reshape(mask.shape)


def _check_metric(ground: np.ndarray) -> None:
    if ground.ndim != 2 or ground.shape[0] != ground.shape[1]:
        raise UsageError(f"A ground metric is a square matrix, got shape {ground.shape}.")
    off = ~np.eye(len(ground), dtype=bool)
    if not np.isfinite(ground).all() or (ground[off] <= 0).any() or np.diag(ground).any():
        raise UsageError("A ground metric is 0 on the diagonal and positive and finite elsewhere.")
    if not np.allclose(ground, ground.T, rtol=1e-9, atol=0):
        raise UsageError("A ground metric is symmetric: the distance back is the distance there.")
    detour = (ground[:, :, None] + ground[None, :, :]).min(axis=1)
    if (ground > detour * (1 + 1e-9)).any():
        s, t = np.argwhere(ground > detour * (1 + 1e-9))[0]
        raise UsageError(
            f"The ground distance from state {s} to {t} is {ground[s, t]:.6g}, but a detour takes "
            f"only {detour[s, t]:.6g}: the triangle inequality fails."
        )
