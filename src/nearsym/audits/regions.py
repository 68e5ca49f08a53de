"""Where a symmetry is broken: a few boxes of coordinate ranges, found by a shallow tree."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

DEPTH = 6
"""Splits between the root and a box."""
SMALLEST = 0.005
"""Share of the samples below which a leaf is not split off."""
NOISY_DEPTH, NOISY_SMALLEST = 4, 0.03
"""The same for numbers with noise."""
MANY = 12
"""Coordinates from which on boxes are kept short, so that a person can read them."""
SHORT_DEPTH, SHORT_SMALLEST, BOXES = 3, 0.03, 4
"""Splits, share of the samples and number of boxes among so many coordinates."""
WEAK = 0.05
"""Share of the variance below which a split looks one level further."""


@dataclass(frozen=True)
class Box:
    """Ranges of coordinates, the share of all samples inside, and how many of those are broken."""

    bounds: dict[str, tuple[float, float]]
    share: float
    purity: float

    def as_json(self) -> dict[str, object]:
        bounds = [
            {"coordinate": name, "low": low, "high": high}
            for name, (low, high) in self.bounds.items()
        ]
        return {"bounds": bounds, "share": self.share, "purity": self.purity}


@dataclass
class Node:
    """A set of samples; split where `feature` < `threshold`, unless it is a leaf."""

    members: np.ndarray
    low: np.ndarray
    high: np.ndarray
    feature: int | None = None
    threshold: float = 0.0
    children: list["Node"] = field(default_factory=list)


@dataclass(frozen=True)
class Tree:
    """What the samples say: the boxes, and how much each coordinate told about the breaks."""

    boxes: list[Box]
    importance: Float[np.ndarray, "coordinates"]


def find_regions(
    x: Float[np.ndarray, "samples coordinates"],
    broken: Float[np.ndarray, "samples"],
    names: Sequence[str],
    *,
    noisy: bool = False,
) -> Tree:
    """Boxes that hold the samples with `broken` > ½, by a tree of axis-parallel splits.

    `broken` is 0 or 1 for each sample, or with `noisy` any numbers whose means count. The tree is
    grown greedily by variance, cut back where a split saves hardly any sample (noisy: where its
    sides hardly differ), and its broken leaves are joined where they touch. A side on which a box
    is open ends where the samples end; a box that is open on all sides of a coordinate does not
    name it.
    """
    n, width = x.shape
    importance = np.zeros(width)
    root = Node(np.arange(n), np.full(width, -np.inf), np.full(width, np.inf))
    depth, share = (NOISY_DEPTH, NOISY_SMALLEST) if noisy else (DEPTH, SMALLEST)
    if width > MANY:
        depth, share = SHORT_DEPTH, SHORT_SMALLEST
    _grow(root, x, broken, depth, max(3, int(share * n)), importance)
    if noisy:
        _prune_noisy(root, broken)
    else:
        _prune(root, broken, saved=max(3.0, 0.002 * n))
    boxes = _join([leaf for leaf in _leaves(root) if broken[leaf.members].mean() > 0.5])
    found = [_box(box, x, broken, names) for box in boxes]
    found = [box for box in found if box.share >= SMALLEST]
    found.sort(key=lambda box: -box.share)
    return Tree(found if width <= MANY else found[:BOXES], importance)


def _grow(
    node: Node, x: np.ndarray, y: np.ndarray, depth: int, smallest: int, importance: np.ndarray
) -> None:
    if depth == 0:
        return
    split = _choose(x[node.members], y[node.members], smallest)
    if split is None:
        return
    feature, threshold, gain = split
    importance[feature] += gain
    below = x[node.members, feature] < threshold
    node.feature, node.threshold = feature, threshold
    for side in (below, ~below):
        low, high = node.low.copy(), node.high.copy()
        (high if side is below else low)[feature] = threshold
        child = Node(node.members[side], low, high)
        node.children.append(child)
        _grow(child, x, y, depth - 1, smallest, importance)


def _choose(x: np.ndarray, y: np.ndarray, smallest: int) -> tuple[int, float, float] | None:
    """The best split; where no single one tells much, the one whose halves split best.

    Quadrants need that: neither coordinate of u·v > 0 says anything on its own.
    """
    split = _best_split(x, y, smallest)
    if split is None or split[2] > WEAK * len(y) * y.var():
        return split
    levels = np.linspace(0, 1, 14)[1:-1]
    for _ in range(2):  # a coarse look over all coordinates, then a fine one around the best
        features = range(x.shape[1]) if len(levels) == 12 else [split[0]]
        candidates = [
            (i, float(t), _gain_below(x, y, smallest, i, float(t)))
            for i in features
            for t in np.quantile(x[:, i], levels)
        ]
        best = max(candidates, key=lambda candidate: candidate[2])
        if best[2] <= split[2]:
            return split
        split = best
        level = float((x[:, best[0]] < best[1]).mean())
        levels = np.clip(level + np.linspace(-0.08, 0.08, 33), 0.01, 0.99)
    return split


def _gain_below(
    x: np.ndarray, y: np.ndarray, smallest: int, feature: int, threshold: float
) -> float:
    """What a split and the best split of each of its halves gain together."""
    below = x[:, feature] < threshold
    if min(below.sum(), (~below).sum()) < smallest:
        return -np.inf
    halves = [_best_split(x[side], y[side], smallest) for side in (below, ~below)]
    own = sum(y[side].sum() ** 2 / side.sum() for side in (below, ~below)) - y.sum() ** 2 / len(y)
    return float(own + sum(half[2] for half in halves if half is not None))


def _best_split(x: np.ndarray, y: np.ndarray, smallest: int) -> tuple[int, float, float] | None:
    """The split that lowers Σ (y − mean)² most, with `smallest` samples or more on each side."""
    n = len(y)
    if n < 2 * smallest or y.min() == y.max():
        return None
    order = np.argsort(x, axis=0, kind="stable")
    ordered, labels = np.take_along_axis(x, order, axis=0), y[order]
    left = np.cumsum(labels, axis=0)[:-1]
    count = np.arange(1, n)[:, None]
    total = y.sum()
    gain = left**2 / count + (total - left) ** 2 / (n - count) - total**2 / n
    gain[(ordered[1:] <= ordered[:-1])] = -np.inf  # equal values cannot be told apart
    gain[: smallest - 1], gain[n - smallest :] = -np.inf, -np.inf
    place, feature = np.unravel_index(np.argmax(gain), gain.shape)
    best = float(gain[place, feature])
    if best <= 1e-9 * n:
        return None
    threshold = 0.5 * (ordered[place, feature] + ordered[place + 1, feature])
    return int(feature), float(threshold), best


def _prune(node: Node, y: np.ndarray, saved: float) -> float:
    """Take back splits that put fewer than `saved` more samples right; the errors that remain."""
    labels = y[node.members]
    as_leaf = float(np.abs(labels - (labels.mean() > 0.5)).sum())
    if not node.children:
        return as_leaf
    split = sum(_prune(child, y, saved) for child in node.children)
    if as_leaf - split < saved:
        node.children, node.feature = [], None
        return as_leaf
    return split


def _prune_noisy(node: Node, y: np.ndarray) -> None:
    """Take back splits whose sides differ by less than five standard errors.

    Five and not two: the split was chosen among many as the one that differs most.
    """
    for child in node.children:
        _prune_noisy(child, y)
    if not node.children or any(child.children for child in node.children):
        return
    sides = [y[child.members] for child in node.children]
    error = np.sqrt(sum(side.var() / len(side) for side in sides))
    if abs(sides[0].mean() - sides[1].mean()) < 5 * error:
        node.children, node.feature = [], None


def _leaves(node: Node) -> list[Node]:
    if not node.children:
        return [node]
    return [leaf for child in node.children for leaf in _leaves(child)]


def _join(leaves: list[Node]) -> list[Node]:
    """Boxes that agree in all coordinates but one, and touch in that one, become one box."""
    leaves = list(leaves)
    for i, first in enumerate(leaves):
        for second in leaves[i + 1 :]:
            differs = (first.low != second.low) | (first.high != second.high)
            if differs.sum() > 1:
                continue
            low, high = np.maximum(first.low, second.low), np.minimum(first.high, second.high)
            if (low <= high).all():
                joined = Node(
                    np.concatenate([first.members, second.members]),
                    np.minimum(first.low, second.low),
                    np.maximum(first.high, second.high),
                )
                rest = [leaf for leaf in leaves if leaf is not first and leaf is not second]
                return _join([*rest, joined])
    return leaves


def _box(node: Node, x: np.ndarray, y: np.ndarray, names: Sequence[str]) -> Box:
    seen_low, seen_high = x.min(axis=0), x.max(axis=0)
    named = np.flatnonzero(np.isfinite(node.low) | np.isfinite(node.high))
    bounds = {
        names[i]: (float(max(node.low[i], seen_low[i])), float(min(node.high[i], seen_high[i])))
        for i in map(int, named)
    }
    return Box(bounds, len(node.members) / len(y), float(y[node.members].mean()))
