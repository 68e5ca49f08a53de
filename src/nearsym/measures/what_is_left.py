"""What is left of a symmetry: a test over several runs of relaxed networks.

**Two rules.** Write (k·w)[h] = w[k⁻¹h]. Substituting h → kh in y[g] = Σ_h w[h] ψ(g⁻¹h) x[h] shows
that a layer with weights k·w, fed k·x, gives k·y, and so does a network all of whose layers have
k·w. In a world that obeys a subgroup K, the agent with k·w therefore lives the k-image of the life
of the agent with w. The weights start equal, k·w = w, and Adam treats all elements alike, so over
seeds, for all layers together,

    (w[h])_h and (w[k⁻¹h])_h are equal in law for k in K.                                 (left)

The second rule holds in every world and for every a of the group. Relabelling the hidden features,
x[h] → x[ha], with filters ψ(a⁻¹ · a) leaves the function as it is, and the filters' start has the
same law either way; networks that share no layer may be relabelled each for itself:

    (w[h])_h and (w[ha])_h are equal in law.                                             (right)

By (right) every element has the same mean over seeds. No comparison of such means can ever find
anything, and which coset gets the large weights varies with the seed. What may differ is how far
apart elements lie within a run: ½E(w[h] − w[h'])² = γ(h'h⁻¹). By (left), a world with the whole
symmetry makes γ a function of conjugacy classes, and that is all: it may still differ between, say,
rotations and mirrors by chance alone. So for a normal subgroup such as C4 in D4 no test can follow
from the symmetry by itself. It needs to know what chance does, in one of two ways.

**Without a reference** chance is assumed to treat the elements of a run alike: exchangeable, with
one relabelling for all layers of a run, since layers share data and agree by chance too. As this
holds only roughly, a finding must also be large: half of the spread beyond chance.

**With a reference**, runs of the same kind in a world known to obey the whole group, chance is what
happens there. Runs change sides between the two sets, and the level is exact.

Both ask two questions of every subgroup K, with the statistic share(K) of `nearsym.measures.cosets`
averaged over runs, and Holm's correction over subgroups (and, layer by layer, over layers):

    explains   do the cosets of K explain more of the spread than chance does?
    within     does a smaller subgroup explain more than chance of what K leaves? Then K is
               contradicted, and owes its share to that subgroup.

What is left is the largest subgroup that explains and is not contradicted. A spread without order
contradicts nothing: only a reference can tell chance from a symmetry that is broken altogether, or
say anything for a group without proper subgroups such as D1.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup
from nearsym.groups.lattice import subgroup_name
from nearsym.measures.chance import Chance, Products, exchanged, holm, p_value, shares_inside
from nearsym.measures.cosets import NO_SPREAD, Weights, between, of_elements, spread_products

FEWEST_RUNS = 5
"""Among the four elements of D2 a run fits a given subgroup by chance one time in three: five runs
make that 1/243, which survives the correction for three subgroups."""
DRAWS = 9999
LEVEL = 0.05


@dataclass(frozen=True)
class Evidence:
    """What several runs say of one subgroup. The p-values carry Holm's correction."""

    name: str
    elements: tuple[str, ...]
    share: float
    """Of the spread, between its cosets, averaged over runs."""
    by_chance: float
    """The share if all elements are alike, or that of the reference."""
    p_explains: float
    """Small: its cosets explain more than chance."""
    p_within: float | None
    """Small: a smaller subgroup explains what it leaves. None for prime order: there is none."""
    explains: bool
    """p_explains is small, and the share is large enough to trust it."""
    contradicted: bool
    """p_within is small, and that smaller subgroup explains enough of what is left."""


@dataclass(frozen=True)
class Finding:
    """The subgroup that is left by one layer, or by all, with its evidence."""

    left: tuple[str, ...] | None
    """Its elements; the whole group where nothing speaks against it; None where something does,
    but no subgroup stands out."""
    reason: str
    subgroups: tuple[Evidence, ...]


@dataclass(frozen=True, repr=False)
class LeftOver:
    """The finding over all layers, and those of single layers. Shown, it is a table.

    >>> from nearsym.groups.catalog import dihedral
    >>> left_over({"actor": np.ones((5, 1, 2))}, dihedral(1))
    No evidence against D1: without proper subgroups only a `reference` can tell. (5 runs)
    """

    over_layers: Finding
    layers: dict[str, Finding]
    runs: int
    p_spread: float | None
    """Small: the weights spread more than those of the reference. None without one."""

    @property
    def left(self) -> tuple[str, ...] | None:
        """The elements of the subgroup that is left, over all layers."""
        return self.over_layers.left

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    def __repr__(self) -> str:
        said = f"{self.over_layers.reason} ({self.runs} runs)"
        if not self.over_layers.subgroups:
            return said
        head = f"{'subgroup':<36} {'share':>6} {'chance':>7} {'p explains':>11} {'p within':>9}"
        lines = [said, head]
        for k in self.over_layers.subgroups:
            within = "" if k.p_within is None else f"{k.p_within:.4f}"
            numbers = f"{k.share:>6.2f} {k.by_chance:>7.2f} {k.p_explains:>11.4f} {within:>9}"
            lines.append(f"{k.name:<36} {numbers}")
        found = {name: f for name, f in self.layers.items() if any(k.explains for k in f.subgroups)}
        lines += [f"{name}: {finding.reason}" for name, finding in found.items()]
        return "\n".join([*lines, f"Nothing is found in {len(self.layers) - len(found)} layers."])


def left_over(
    weights: Weights,
    group: FiniteGroup,
    *,
    reference: Weights | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> LeftOver:
    """The subgroup on whose cosets the weights of several runs are constant beyond chance.

    `weights` are layer to (runs, filters, elements), from runs that differ in their seed only, at
    least five; `reference` the same of runs in a symmetric world. The p-values are valid at any
    number of `draws`, but none is smaller than 1/(1 + draws) before Holm's correction.

    >>> from nearsym.groups.catalog import dihedral
    >>> rng = np.random.default_rng(0)
    >>> large = rng.choice([[0.5, 1.3], [1.3, 0.5]], size=6)  # which coset, varies with the seed
    >>> w = np.repeat(large, 4, axis=1)[:, None] + 0.05 * rng.normal(size=(6, 1, 8))
    >>> left_over({"actor": w}, dihedral(4), draws=999).left
    ('e', 'rot90', 'rot180', 'rot270')
    """
    named = of_elements(weights, group)
    asked, rng = _questions(named, group), np.random.default_rng(seed)
    _check("weights", asked.shape[1], draws, level)
    others, p_spread = None, None
    if reference is not None:
        compared = _same_layers(of_elements(reference, group), named)
        others = _questions(compared, group)
        _check("reference", others.shape[1], draws, level)
        p_spread = float(p_value(exchanged(_spread(named), _spread(compared), rng, draws)))
    tested = _tested(Chance(asked, others, group, rng, draws), level)
    over_layers, *single = (
        Finding(*_judged(evidence, group, p_spread if i == 0 else None, level), evidence)
        for i, evidence in enumerate(tested)
    )
    layers = dict(zip(named, single, strict=True))
    return LeftOver(over_layers, layers, asked.shape[1], p_spread)


def _questions(weights: Weights, group: FiniteGroup) -> Products:
    """The products of all layers together, then those of each."""
    layers = list(spread_products(weights, group).values())
    return np.stack([np.sum(layers, axis=0), *layers])


def _tested(chance: Chance, level: float) -> list[tuple[Evidence, ...]]:
    """The evidence of every subgroup for every question."""
    group, candidates = chance.group, between(chance.group)
    if not candidates:
        return [()] * len(chance.asked)
    whole = tuple(range(group.order))
    shares = shares_inside(chance.asked, group, whole, candidates).mean(axis=1)
    expected = chance.expected(whole, candidates)
    p_explains, size = chance.test(whole, candidates)
    p_within, size_within = np.full((2, *size.shape), np.nan)
    for i, k in enumerate(candidates):
        smaller = [j for j in candidates if set(j) < set(k)]
        if smaller:
            p_within[:, i], size_within[:, i] = chance.test_any(k, smaller)
    for p in (p_explains, p_within):  # two families: all layers together, and layer by layer
        p[:1], p[1:] = holm(p[:1]), holm(p[1:])
    explains = (p_explains <= level) & chance.is_large(size)
    contradicted = (p_within <= level) & chance.is_large(size_within)
    return [
        tuple(
            Evidence(
                name=subgroup_name(group, k),
                elements=tuple(group.elements[g] for g in k),
                share=float(shares[q, i]),
                by_chance=float(expected[q, i]),
                p_explains=float(p_explains[q, i]),
                p_within=None if np.isnan(p_within[q, i]) else float(p_within[q, i]),
                explains=bool(explains[q, i]),
                contradicted=bool(contradicted[q, i]),
            )
            for i, k in enumerate(candidates)
        )
        for q in range(len(chance.asked))
    ]


def _spread(weights: Weights) -> Float[np.ndarray, "runs"]:
    """The logarithm of the relative spread, averaged over layers, so that each counts alike."""
    layers = [w.std(axis=2).mean(axis=1) / np.abs(w).mean(axis=(1, 2)) for w in weights.values()]
    return np.log(np.maximum(layers, NO_SPREAD)).mean(axis=0)


def _judged(
    evidence: tuple[Evidence, ...], group: FiniteGroup, p_spread: float | None, level: float
) -> tuple[tuple[str, ...] | None, str]:
    """What is left, and one sentence for it."""
    explain = [k for k in evidence if k.explains]
    stand = [k for k in explain if not k.contradicted]
    if stand:
        k = max(stand, key=lambda k: (len(k.elements), k.share))
        said = f"{k.share:.0%} of the spread, by chance {k.by_chance:.0%}, p = {k.p_explains:.2g}"
        return k.elements, f"{k.name} is left of {group}: its cosets explain {said}."
    if explain:
        return None, f"Some order, but no subgroup of {group} fits it: more runs may tell."
    whole = f"No evidence against {group}"
    if p_spread is None and not evidence:
        return group.elements, f"{whole}: without proper subgroups only a `reference` can tell."
    if p_spread is None:
        return group.elements, f"{whole}: {_best(evidence, level)}."
    size = f"the weights spread {{}} than the reference's (p = {p_spread:.2g})"
    order = f"; {_best(evidence, level)}" if evidence else ""
    if p_spread > level:
        return group.elements, f"{whole}: {size.format('no more')}{order}."
    left = None if evidence else group.elements[:1]
    return left, f"{group} is broken, and no part of it seen: {size.format('more')}{order}."


def _best(evidence: tuple[Evidence, ...], level: float) -> str:
    """The subgroup that came nearest to a finding."""
    k = min(evidence, key=lambda k: (k.p_explains, -k.share))
    said = f"{k.name} comes nearest with {k.share:.0%} of the spread, by chance {k.by_chance:.0%}"
    little = ", too little to be told from chance" if k.p_explains <= level else ""
    return f"{said}, p = {k.p_explains:.2g}{little}"


def _same_layers(reference: Weights, weights: Weights) -> Weights:
    if reference.keys() != weights.keys():
        raise UsageError(
            f"`reference` must have the layers of `weights`, {', '.join(weights)}; "
            f"got {', '.join(reference)}."
        )
    return {name: reference[name] for name in weights}


def _check(given: str, runs: int, draws: int, level: float) -> None:
    if runs < FEWEST_RUNS:
        raise UsageError(
            f"`{given}` must come from at least {FEWEST_RUNS} runs, got {runs}. "
            "The audit of a run describes what is left without a test."
        )
    if draws < 1:
        raise UsageError(f"`draws` must be at least 1, got {draws}.")
    if not 0 < level < 1:
        raise UsageError(f"`level` must lie between 0 and 1, got {level}.")
