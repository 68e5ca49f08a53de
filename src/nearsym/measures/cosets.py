"""Which part of the relaxed weights' spread lies between the cosets of a subgroup.

A relaxed layer is exactly equivariant under a subgroup K if (generically: and only if) its weights
w[l, h] are constant on the cosets Kh. With d = w − (mean of w over the elements), and Σ over
filters and elements,

    share(K) = Σ (mean of d over Kh)² / Σ d²

is 1 where they are and (m − 1)/(n − 1) on average where the spread has no order, with m cosets of n
elements. It grows from K to the subgroups of K; {e} always has 1 and the whole group 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup
from nearsym.groups.lattice import Subgroup, coset_means, subgroup_name, subgroups

PLAUSIBLE = 0.75
"""The part of the spread beyond chance that a subgroup's cosets explain to be called plausible."""
NO_SPREAD = 1e-12
"""Squares of relative spreads below this are rounding."""

Weights = Mapping[str, np.ndarray]
"""Layer to (runs, filters, elements). A row may be a run, or one evaluation of a single run."""


def coset_shares(weights: Weights, group: FiniteGroup) -> dict[Subgroup, Float[np.ndarray, "runs"]]:
    """share(K) over all layers for every subgroup K but the whole group and {e}, row by row.

    Every layer counts by its spread relative to the mean size of its weights, so the layers that
    spread most decide. NaN where nothing spreads. With `Run.relaxed_weights()` the rows are the
    evaluations of a run, and the shares show how order develops in training.

    >>> from nearsym.groups.catalog import dihedral
    >>> start, end = [1.0, 1.0, 1.0, 1.0], [1.5, 1.5, 0.5, 0.5]
    >>> for k, share in coset_shares({"actor": np.array([[start], [end]])}, dihedral(2)).items():
    ...     print(k, share)
    (0, 1) [nan  1.]
    (0, 2) [nan  0.]
    (0, 3) [nan  0.]
    """
    products = np.sum(list(spread_products(weights, group).values()), axis=0)
    return {k: share_between(products, coset_means(group, k)) for k in between(group)}


def between(group: FiniteGroup) -> tuple[Subgroup, ...]:
    """The subgroups that a spread can point to: neither the whole group nor {e}."""
    return tuple(k for k in subgroups(group) if 1 < len(k) < group.order)


def spread_products(
    weights: Weights, group: FiniteGroup
) -> dict[str, Float[np.ndarray, "runs elements elements"]]:
    """Layer to Σ_l d[l, g] d[l, h] for each row, d relative to the mean size of the weights.

    All that a share needs. Layers whose weights belong to anything but elements (the offsets of
    steerable kernels, the days of a window) are left out.
    """
    found = {}
    for name, w in of_elements(weights, group).items():
        size = np.abs(w).mean(axis=(1, 2), keepdims=True)
        d = (w - w.mean(axis=2, keepdims=True)) / np.maximum(size, NO_SPREAD)
        found[name] = np.einsum("rlg,rlh->rgh", d, d)
    return found


def of_elements(weights: Weights, group: FiniteGroup) -> dict[str, np.ndarray]:
    """The layers whose weights belong to the elements of the group; an error if there are none."""
    kept = _of_elements(weights, group)
    if not kept:
        shapes = {name: np.shape(w) for name, w in weights.items()}
        raise UsageError(
            f"`weights` must hold a layer of shape (runs, filters, {group.order}) for {group}, got "
            f"{shapes}. Only models with relaxed weights on elements (`model='approx'`) have them."
        )
    broken = [name for name, w in kept.items() if not np.isfinite(w).all()]
    if broken:
        raise UsageError(f"`weights` must be finite numbers; those of {broken[0]} are not.")
    if len({len(w) for w in kept.values()}) > 1:
        counts = {name: len(w) for name, w in kept.items()}
        raise UsageError(f"`weights` must have the same runs in every layer, got {counts}.")
    return kept


def _of_elements(weights: Weights, group: FiniteGroup) -> dict[str, np.ndarray]:
    arrays = {name: np.asarray(w, dtype=np.float64) for name, w in weights.items()}
    return {name: w for name, w in arrays.items() if w.ndim == 3 and w.shape[2] == group.order}


def share_between(
    products: Float[np.ndarray, "*rows elements elements"], means: np.ndarray
) -> Float[np.ndarray, "*rows"]:
    """share(K) from the products of the spreads and K's projection on coset means."""
    total = np.trace(products, axis1=-2, axis2=-1)
    explained = np.einsum("...gh,gh->...", products, means)
    return np.where(total > NO_SPREAD, explained / np.maximum(total, NO_SPREAD), np.nan)


def by_chance(group: FiniteGroup, subgroup: Sequence[int]) -> float:
    """What cosets explain on average of a spread without order: (m − 1)/(n − 1)."""
    return (group.order // len(subgroup) - 1) / (group.order - 1)


def beyond_chance(share: Any, chance: Any) -> Any:
    """A share on a scale where chance is 0 and constant on cosets is 1."""
    return (share - chance) / (1 - chance)


@dataclass(frozen=True)
class SubgroupInRun:
    """What the weights of one run, and its policy, say of one subgroup."""

    name: str
    elements: tuple[str, ...]
    share: float
    """Over all layers."""
    by_chance: float
    layers: dict[str, float]
    """Layer to share, for the layers that spread."""
    policy_inside: float
    """The largest mean error ‖π(gs) − gπ(s)‖ of an element of the subgroup."""
    policy_outside: float
    """The smallest of any other element."""

    @property
    def beyond_chance(self) -> float:
        """0 at chance, 1 where the weights are constant on its cosets."""
        return beyond_chance(self.share, self.by_chance)


@dataclass(frozen=True)
class LeftInRun:
    """A description of one run, and no test: what chance does only several runs can tell.

    >>> from nearsym.groups.catalog import dihedral
    >>> w = np.array([[0.5, 0.5, 1.5, 1.5]])
    >>> errors = {"rot180": 0.01, "mirror_x": 0.4, "mirror_y": 0.5}
    >>> left_in_run({"actor.body": w}, errors, dihedral(2)).plausible.name
    'C2 {e, rot180}'
    """

    subgroups: tuple[SubgroupInRun, ...]
    """The largest share beyond chance first; none where nothing spreads or nothing is relaxed."""

    @cached_property
    def plausible(self) -> SubgroupInRun | None:
        """The largest subgroup with at least `PLAUSIBLE` of the spread beyond chance."""
        fitting = [k for k in self.subgroups if k.beyond_chance >= PLAUSIBLE]
        return max(fitting, key=lambda k: (len(k.elements), k.share), default=None)

    @property
    def policy_agrees(self) -> bool | None:
        """Whether all its elements have smaller policy errors than all others."""
        k = self.plausible
        return None if k is None else k.policy_inside < k.policy_outside

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        rows = [
            {
                "name": k.name,
                "elements": list(k.elements),
                "share": k.share,
                "by_chance": k.by_chance,
                "layers": k.layers,
                "policy_inside": k.policy_inside,
                "policy_outside": k.policy_outside,
            }
            for k in self.subgroups
        ]
        plausible = None if self.plausible is None else list(self.plausible.elements)
        return {
            "subgroups": rows,
            "plausible": plausible,
            "policy_agrees": self.policy_agrees,
            "criterion": f"largest subgroup with {PLAUSIBLE:.0%} of the spread beyond chance",
        }


def left_in_run(
    weights: Mapping[str, Float[np.ndarray, "*filters elements"]],
    policy_errors: Mapping[str, float],
    group: FiniteGroup,
) -> LeftInRun:
    """Describe the relaxed weights of one network beside its policy's error for each element.

    >>> from nearsym.groups.catalog import dihedral
    >>> errors = {"rot180": 0.01, "mirror_x": 0.4, "mirror_y": 0.5}
    >>> found = left_in_run({"actor.body": np.array([[0.5, 0.6, 1.5, 1.5]])}, errors, dihedral(2))
    >>> [(k.name, round(k.share, 2)) for k in found.subgroups][:2]
    [('C2 {e, rot180}', 0.99), ('D1 {e, mirror_x}', 0.0)]
    """
    one = _of_elements({name: np.asarray(w)[None] for name, w in weights.items()}, group)
    if not one:
        return LeftInRun(())
    products = {name: p[0] for name, p in spread_products(one, group).items()}
    everything = np.sum(list(products.values()), axis=0)
    if np.trace(everything) <= NO_SPREAD:
        return LeftInRun(())
    found = []
    for k in between(group):
        means = coset_means(group, k)
        shares = {name: float(share_between(p, means)) for name, p in products.items()}
        names = tuple(group.elements[g] for g in k)
        found.append(
            SubgroupInRun(
                name=subgroup_name(group, k),
                elements=names,
                share=float(share_between(everything, means)),
                by_chance=by_chance(group, k),
                layers={name: share for name, share in shares.items() if np.isfinite(share)},
                policy_inside=max(policy_errors[g] for g in names[1:]),
                policy_outside=min(e for g, e in policy_errors.items() if g not in names),
            )
        )
    return LeftInRun(tuple(sorted(found, key=lambda k: -k.beyond_chance)))
