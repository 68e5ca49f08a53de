"""What a task declares: how a group, or the passing of time, moves its observations and actions."""

from dataclasses import dataclass

import gymnasium

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.action import Action
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation
from nearsym.protocols import Symmetric, layer_of

TIME_KINDS = ("T", "ST")


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


@dataclass(frozen=True)
class TimeSymmetry:
    """A symmetry of time: the observation is a window of days, and patterns that come later (T), or
    later and stretched (ST), mean the same.

    No finite group acts on a window, whose borders cut every shift; networks use it all the same,
    as convolutions over time.

    >>> TimeSymmetry("T", window=9, features=3, actions=1)
    TimeSymmetry(T: 9 days of 3 features, 1 actions)
    """

    kind: str
    """T: translation; ST: scale and translation."""
    window: int
    """Days in an observation, the oldest first."""
    features: int
    """Numbers for each day."""
    actions: int
    """Numbers in an action, which time leaves as they are."""

    def __post_init__(self) -> None:
        if self.kind not in TIME_KINDS:
            raise unknown_name("symmetry of time", self.kind, TIME_KINDS)

    def __repr__(self) -> str:
        return (
            f"TimeSymmetry({self.kind}: {self.window} days of {self.features} features, "
            f"{self.actions} actions)"
        )


def symmetry_of(env: gymnasium.Env) -> Symmetry | TimeSymmetry | None:
    """What an environment, or the outermost wrapper around it that declares anything, declares.

    >>> symmetry_of(gymnasium.make("Pendulum-v1")) is None
    True
    """
    layer = layer_of(env, Symmetric)
    if layer is None or layer.symmetry is None:
        return None
    if not isinstance(layer.symmetry, Symmetry | TimeSymmetry):
        raise UsageError(
            f"`symmetry` of {type(layer).__name__} has to be a nearsym.Symmetry, got "
            f"{type(layer.symmetry).__name__}."
        )
    return layer.symmetry
