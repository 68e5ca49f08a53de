"""What was found, as a table for people and as plain data."""

from dataclasses import dataclass, field
from typing import Any

from nearsym.audits.environment import EnvironmentAudit
from nearsym.discovery.elements import Element
from nearsym.groups.group import FiniteGroup
from nearsym.groups.symmetry import Symmetry
from nearsym.physics.signed import SignedPermutation

SHOWN = 24
"""Entries up to which a row shows how a whole vector moves."""


@dataclass(frozen=True)
class FoundElement:
    """One element of the group that was found."""

    name: str
    exact: bool
    eps_r: float
    """Mean difference of rewards."""
    eps_p: float
    """Mean distance of next states, in the state's own units."""
    steps: float
    """Mean distance of next states, scaled, in mean steps."""
    element: Element

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "exact": self.exact,
            "eps_r": self.eps_r,
            "eps_p": self.eps_p,
            "steps": self.steps,
            "observation": self.element.observation.matrix.tolist(),
            "action": self.element.move.action.matrix.tolist(),
            "state": self.element.move.state.matrix.tolist(),
            "quarter_turns": list(self.element.move.turns),
        }


@dataclass(frozen=True, repr=False)
class Discovery:
    """The symmetries of an environment. Shown, it is a table."""

    group: FiniteGroup
    symmetry: Symmetry
    elements: list[FoundElement]
    """Without e."""
    dynamics_only: list[Element]
    """Moves that next states obey exactly, and rewards do not."""
    declaration: str
    """Python source with `symmetry`, and `transform` where the environment needs one."""
    samples: int
    audit: EnvironmentAudit | None
    """The audit that verified it; None where nothing was found."""
    notes: list[str] = field(default_factory=list)

    @property
    def exact(self) -> list[str]:
        """Names of the elements that hold at every sample."""
        return [element.name for element in self.elements if element.exact]

    def as_json(self) -> dict[str, Any]:
        """Plain data, as the command prints it."""
        return {
            "group": str(self.group),
            "elements": [element.as_json() for element in self.elements],
            "dynamics_only": len(self.dynamics_only),
            "declaration": self.declaration,
            "samples": self.samples,
            "notes": self.notes,
        }

    def __repr__(self) -> str:
        return discovery_table(self)


def discovery_table(found: Discovery) -> str:
    """The group, one row for each element, and what else was noticed."""
    if not found.elements:
        lines = ["No symmetry found among signed permutations."]
    else:
        lines = [
            f"{found.group}, verified at {found.samples} pairs of steps.",
            f"{'element':<10} {'':<12} {'ε_R':>9} {'ε_P':>9} {'steps':>9}",
        ]
        for e in found.elements:
            held = "exact" if e.exact else "approximate"
            lines.append(f"{e.name:<10} {held:<12} {e.eps_r:>9.2g} {e.eps_p:>9.2g} {e.steps:>9.2g}")
            lines += _moves("observation", e.element.observation)
            lines += _moves("action", e.element.move.action)
    if found.dynamics_only:
        count = len(found.dynamics_only)
        lines.append(f"{count} more would keep next states exactly; the reward breaks them.")
    return "\n".join([*lines, *(f"Note: {note}" for note in found.notes)])


def _moves(what: str, p: SignedPermutation) -> list[str]:
    """What becomes of the entries, the first of them where there are many."""
    pairs = list(zip(p.sign, p.source, strict=True))
    said = [f"{'+' if s > 0 else '−'}{int(i)}" for s, i in pairs[:SHOWN]]
    dots = ", …" if len(pairs) > SHOWN else ""
    return [f"{'':<10} {what}: [{', '.join(said)}{dots}]"]
