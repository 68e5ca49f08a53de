"""What chance does to shares of a spread: randomisation tests over several runs.

Elements change their labels within each run, or runs change sides with those of a reference. Every
p-value counts the observed arrangement among the drawn ones, so it is valid at any number of draws.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float, Int

from nearsym.groups.group import FiniteGroup
from nearsym.groups.lattice import Subgroup, coset_means
from nearsym.measures.cosets import NO_SPREAD, beyond_chance

LARGE = 0.5
"""The part beyond chance that must be explained where chance is known only roughly: most of it."""
CHUNK = 500
"""Relabellings at a time, for the memory's sake."""

Products = Float[np.ndarray, "questions runs elements elements"]
"""Those of `spread_products`, one set for each question that is asked of the runs."""


@dataclass(frozen=True)
class Chance:
    """What the cosets of a subgroup explain by chance, and whether they explain more."""

    asked: Products
    reference: Float[np.ndarray, "questions references elements elements"] | None
    """Runs of a symmetric world. Without them, all elements of a run are taken to be alike."""
    group: FiniteGroup
    rng: np.random.Generator
    draws: int

    def test(
        self, outer: Subgroup, inner: Sequence[Subgroup]
    ) -> tuple[Float[np.ndarray, "questions inner"], Float[np.ndarray, "questions inner"]]:
        """p-value and size for each inner subgroup: does it explain more than chance of the spread
        inside the outer's cosets? The size is 0 at chance and 1 where it explains all."""
        drawn = self._drawn(outer, inner)
        return p_value(drawn), beyond_chance(drawn[0], self.expected(outer, inner))

    def test_any(
        self, outer: Subgroup, inner: Sequence[Subgroup]
    ) -> tuple[Float[np.ndarray, "questions"], Float[np.ndarray, "questions"]]:
        """The same for the inner subgroups together: does any of them?"""
        drawn = self._drawn(outer, inner)
        sizes = beyond_chance(drawn[0], self.expected(outer, inner))
        return p_value(most_unusual(drawn)), sizes.max(axis=1)

    def is_large(self, size: np.ndarray) -> np.ndarray:
        """Elements are only roughly alike: without a reference, a small excess says nothing."""
        return size >= (LARGE if self.reference is None else -np.inf)

    def expected(
        self, outer: Subgroup, inner: Sequence[Subgroup]
    ) -> Float[np.ndarray, "questions inner"]:
        """What chance explains on average: (m_J − m_K)/(n − m_K) if all elements are alike."""
        if self.reference is not None:
            return shares_inside(self.reference, self.group, outer, inner).mean(axis=1)
        n, coarse = self.group.order, self.group.order // len(outer)
        parts = [(n // len(j) - coarse) / (n - coarse) for j in inner]
        return np.tile(parts, (len(self.asked), 1))

    def _drawn(
        self, outer: Subgroup, inner: Sequence[Subgroup]
    ) -> Float[np.ndarray, "draws questions inner"]:
        """Mean shares over runs: first as observed, then by chance."""
        if self.reference is None:
            return relabelled(self.asked, self.group, outer, inner, self.rng, self.draws)
        here, there = (
            shares_inside(runs, self.group, outer, inner).swapaxes(0, 1)
            for runs in (self.asked, self.reference)
        )
        return exchanged(here, there, self.rng, self.draws)


def shares_inside(
    products: Products, group: FiniteGroup, outer: Subgroup, inner: Sequence[Subgroup]
) -> Float[np.ndarray, "questions runs inner"]:
    """What the cosets of each inner subgroup explain of the spread inside the outer's cosets."""
    means, scale = _inside(products, group, outer, inner)
    return products.reshape(*products.shape[:2], -1) @ means * scale[..., None]


def relabelled(
    products: Products,
    group: FiniteGroup,
    outer: Subgroup,
    inner: Sequence[Subgroup],
    rng: np.random.Generator,
    draws: int,
) -> Float[np.ndarray, "draws questions inner"]:
    """`shares_inside`, averaged over runs: first as observed, then after relabelling the elements
    of every run at random, inside the outer's cosets and for all questions alike."""
    means, scale = _inside(products, group, outer, inner)
    runs = np.arange(products.shape[1])[None, :, None, None]
    found = []
    for moves in _relabellings(group, outer, products.shape[1], rng, draws):
        moved = products[:, runs, moves[..., :, None], moves[..., None, :]]
        explained = moved.reshape(*moved.shape[:3], -1) @ means  # (questions, draws, runs, inner)
        found.append((explained * scale[:, None, :, None]).mean(axis=2).swapaxes(0, 1))
    return np.concatenate(found)


def exchanged(
    runs: Float[np.ndarray, "runs *shape"],
    reference: Float[np.ndarray, "others *shape"],
    rng: np.random.Generator,
    draws: int,
) -> Float[np.ndarray, "draws *shape"]:
    """The mean of the runs: first as observed, then with runs and reference changing sides; in
    every way where there are no more than `draws`.

    >>> two, rng = np.array([3.0, 4.0]), np.random.default_rng(0)
    >>> float(p_value(exchanged(two, np.array([1.0, 2.0]), rng, 99)).round(3))  # one of six ways
    0.167
    """
    both, n = np.concatenate([runs, reference]), len(runs)
    if math.comb(len(both), n) <= draws:
        sides = np.array(list(combinations(range(len(both)), n)))  # the first is the observed one
    else:
        shuffled = np.argsort(rng.random((draws, len(both))), axis=1)[:, :n]
        sides = np.concatenate([[np.arange(n)], shuffled])
    return both[sides].mean(axis=1)


def p_value(drawn: Float[np.ndarray, "draws *shape"]) -> Float[np.ndarray, "*shape"]:
    """The part of the draws, the observed one among them, that is at least as large as that."""
    return np.asarray((drawn >= drawn[0] - 1e-12).mean(axis=0))


def most_unusual(
    drawn: Float[np.ndarray, "draws questions inner"],
) -> Float[np.ndarray, "draws questions"]:
    """The largest of several statistics, each in its own standard deviations."""
    deviation = drawn.std(axis=0)
    centred = drawn - drawn.mean(axis=0)
    return (centred / np.where(deviation > 0, deviation, 1.0)).max(axis=2)


def holm(p: Float[np.ndarray, "*family"]) -> Float[np.ndarray, "*family"]:
    """p-values after Holm's correction; NaN (nothing was tested) stays and does not count.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    flat = p.flatten()
    tested = np.flatnonzero(np.isfinite(flat))
    order = tested[np.argsort(flat[tested], kind="stable")]
    steps = flat[order] * np.arange(len(order), 0, -1)
    flat[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return flat.reshape(p.shape)


def _inside(
    products: Products, group: FiniteGroup, outer: Subgroup, inner: Sequence[Subgroup]
) -> tuple[np.ndarray, Float[np.ndarray, "questions runs"]]:
    """Projections as columns, and 1 / (spread inside the outer's cosets), 0 where there is none."""
    base = coset_means(group, outer)
    means = np.stack([(coset_means(group, j) - base).flatten() for j in inner], axis=1)
    spread = np.trace(products, axis1=-2, axis2=-1) - np.einsum("qrgh,gh->qr", products, base)
    return means, np.where(spread > NO_SPREAD, 1 / np.maximum(spread, NO_SPREAD), 0.0)


def _relabellings(
    group: FiniteGroup, outer: Subgroup, runs: int, rng: np.random.Generator, draws: int
) -> Iterator[Int[np.ndarray, "draws runs elements"]]:
    """The identity, then random permutations inside the cosets, each run for itself."""
    n = group.order
    yield np.broadcast_to(np.arange(n), (1, runs, n))
    cosets = group.right_cosets(outer)
    in_order = np.concatenate(cosets)
    place = np.empty(n)
    for i, coset in enumerate(cosets):
        place[list(coset)] = i
    for start in range(0, draws, CHUNK):
        count = min(CHUNK, draws - start)
        shuffled = np.argsort(place + rng.random((count, runs, n)), axis=2)
        moves = np.empty_like(shuffled)
        moves[..., in_order] = shuffled
        yield moves
