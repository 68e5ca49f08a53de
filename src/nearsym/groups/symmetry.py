"""What a task declares: how a group moves its observations and its actions."""

from dataclasses import dataclass

from nearsym.errors import UsageError
from nearsym.groups.action import Action
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation


@dataclass(frozen=True)
class Symmetry:
    """A group, how each element acts on observations, and how it acts on actions.

    Environments declare it, networks are built from it, diagnostics test against it.

    >>> from nearsym.groups.catalog import dihedral
    >>> mirror = dihedral(1)
    >>> Symmetry(observation=2 * mirror.sign() + mirror.trivial(), action=mirror.sign())
    Symmetry(D1: observation 2·sign + trivial, action sign)
    """

    observation: Action
    """How an element moves an observation: an `ImageAction` or a `Representation`."""
    action: Representation
    """How an element moves an action vector."""
    bounded: bool = True
    """Whether actions live in the box [−1, 1]ⁿ, which only signed permutations preserve."""

    def __post_init__(self) -> None:
        if self.observation.group != self.action.group:
            raise UsageError(
                f"A symmetry needs one group: observations move under {self.observation.group}, "
                f"actions under {self.action.group}."
            )
        if self.bounded and not self.action.is_signed_permutation:
            raise UsageError(
                f"The action representation {self.action} would leave the box [−1, 1]^"
                f"{self.action.size}: only signed permutations preserve it. "
                "Choose other action coordinates, or a smaller group."
            )

    @property
    def group(self) -> FiniteGroup:
        return self.action.group

    def __repr__(self) -> str:
        return f"Symmetry({self.group}: observation {self.observation}, action {self.action})"
