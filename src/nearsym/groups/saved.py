"""A symmetry as plain data, so that a run can be opened again without the code that declared it."""

import operator
from typing import Any

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.action import Action, ImageAction, Invariant
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation
from nearsym.groups.symmetry import Symmetry


def to_plain(symmetry: Symmetry) -> dict[str, Any]:
    """Lists, numbers and strings that `from_plain` turns back into an equal symmetry.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.groups.representation import sign
    >>> mirror = Symmetry(2 * sign(dihedral(1)), sign(dihedral(1)))
    >>> from_plain(to_plain(mirror))
    Symmetry(D1: observation 2·sign, action sign)
    """
    group = symmetry.group
    return {
        "group": {
            "name": group.name,
            "elements": list(group.elements),
            "mul": group.mul.tolist(),
            "plane": None if group.plane is None else group.plane.tolist(),
        },
        "observation": _action_to_plain(symmetry.observation),
        "action": _action_to_plain(symmetry.action),
        "bounded": symmetry.bounded,
    }


def from_plain(plain: Any) -> Symmetry:
    """The inverse of `to_plain`; what does not describe a symmetry is refused."""
    try:
        group = FiniteGroup(**plain["group"])
        action = _action_from_plain(group, plain["action"])
        observation = _action_from_plain(group, plain["observation"])
        bounded = plain["bounded"]
    except UsageError as error:
        raise UsageError(f"This is no saved symmetry: {error}") from error
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise UsageError(f"This is no saved symmetry: {error!r}.") from error
    if not isinstance(action, Representation) or not isinstance(bounded, bool):
        raise UsageError(
            "This is no saved symmetry: its action must be matrices, and `bounded` true or false."
        )
    return Symmetry(observation, action, bounded)


def _action_to_plain(action: Action) -> dict[str, Any]:
    if isinstance(action, Representation):
        return {"kind": "matrices", "name": action.name, "matrices": action.matrices.tolist()}
    if isinstance(action, ImageAction):
        return {"kind": "pixels", "height": action.height, "width": action.width}
    if isinstance(action, Invariant):
        return {"kind": "invariant"}
    raise UsageError(
        f"A symmetry can be saved if it moves observations by a Representation, an ImageAction or "
        f"not at all, not by {type(action).__name__}. Declare it as an attribute of the "
        "environment, which is not saved."
    )


def _action_from_plain(group: FiniteGroup, plain: dict[str, Any]) -> Action:
    kind = plain["kind"]
    if kind == "pixels":
        return ImageAction(group, operator.index(plain["height"]), operator.index(plain["width"]))
    if kind == "invariant":
        return Invariant(group)
    if kind != "matrices":
        raise unknown_name("kind of action", kind, ("matrices", "pixels", "invariant"))
    return group.representation(plain["matrices"], str(plain["name"]))
