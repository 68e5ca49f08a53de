"""Which elements of a group a function respects up to ε (the paper's Definitions 2 and 3).

    Stab_ε(f, G) = {g ∈ G : ee(f, g, x) ≤ ε}

Definition 1, ee(f, g, x) = ‖f(gx) − g f(x)‖, is about a single x, so the set needs a number for
each element: the largest error over x, or the mean, as `equivariance_error(…, over=…)` gives them.
f is approximately G-equivariant if the set is all of G, and partially if it is less. Closed it need
not be: errors add up along products, so that g and h may be in it and gh not.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

from nearsym.errors import UsageError
from nearsym.groups.group import FiniteGroup
from nearsym.groups.lattice import subgroups


@dataclass(frozen=True, repr=False)
class Stabilizer:
    """The set of elements whose error is at most ε, and what kind of set it is.

    >>> from nearsym.groups.catalog import dihedral
    >>> stabilizer({"rot180": 0.2, "mirror_x": 0.1, "mirror_y": 0.1}, 0.15, dihedral(2))
    {e, mirror_x, mirror_y} of D2, no group
    """

    group: FiniteGroup
    errors: Mapping[str, float]
    """The error of each element but the identity, whose error is 0."""
    epsilon: float

    @cached_property
    def elements(self) -> tuple[str, ...]:
        """Definition 2, in the order of the group."""
        first, *others = self.group.elements
        return first, *(g for g in others if self.errors[g] <= self.epsilon)

    @property
    def is_group(self) -> bool:
        """Whether the set is closed under products and inverses."""
        return self.group.is_subgroup([self.group.index(g) for g in self.elements])

    @property
    def is_whole_group(self) -> bool:
        """Definition 3: whether f is approximately G-equivariant at this ε."""
        return len(self.elements) == self.group.order

    @property
    def smallest_epsilon(self) -> float:
        """The smallest ε at which f is approximately G-equivariant."""
        return max(self.errors.values(), default=0.0)

    @cached_property
    def largest_subgroup(self) -> tuple[str, ...]:
        """The largest subgroup inside the set; of several, the one with the smallest largest
        error."""
        names = self.group.elements
        inside = [
            tuple(names[g] for g in k)
            for k in subgroups(self.group)
            if all(names[g] in self.elements for g in k)
        ]
        return min(inside, key=lambda k: (-len(k), max((self.errors[g] for g in k[1:]), default=0)))

    def __repr__(self) -> str:
        kind = "the whole group" if self.is_whole_group else "a subgroup"
        listed = ", ".join(self.elements)
        return f"{{{listed}}} of {self.group}, {kind if self.is_group else 'no group'}"


def stabilizer(errors: Mapping[str, float], epsilon: float, group: FiniteGroup) -> Stabilizer:
    """The ε-stabilizer {g : error of g ≤ ε} of the function that was measured.

    `errors` holds one number for each element but the identity, by name:
    `equivariance_error(f, x, act_in, act_out, over="max")` for the set of the elements that hold at
    every x, `over="mean"` for those that hold on average.

    >>> import numpy as np
    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.measures.equivariance import equivariance_error
    >>> group, x = dihedral(2), np.array([[0.5, 0.1], [0.5, -0.1], [0.5, 2.0]])
    >>> bent = lambda x: x + np.maximum(x - 1.0, 0.0)  # stretches coordinates beyond 1
    >>> for over in ("mean", "max"):
    ...     errors = equivariance_error(bent, x, group.vector(), group.vector(), over=over)
    ...     print(over, stabilizer(errors, 0.5, group))
    mean {e, rot180, mirror_x, mirror_y} of D2, the whole group
    max {e, mirror_x} of D2, a subgroup
    """
    if not epsilon >= 0:
        raise UsageError(f"`epsilon` must be a number from 0 on, got {epsilon!r}.")
    _check_errors(errors, group)
    return Stabilizer(group, dict(errors), epsilon)


def _check_errors(errors: Mapping[str, float], group: FiniteGroup) -> None:
    for name in errors:
        group.index(name)  # refuses a name that is no element's
    missing = [g for g in group.elements[1:] if g not in errors]
    if missing:
        raise UsageError(f"`errors` must hold every element of {group} but e; {missing[0]} is not.")
    for name, error in errors.items():
        if not isinstance(error, Real) or math.isnan(error):
            raise UsageError(
                f"`errors` must hold one number for each element, got {error!r} for {name}. "
                "Measure them with `over='max'` or `over='mean'` and without `quantiles`."
            )
