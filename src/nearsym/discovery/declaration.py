"""What was found as Python source to paste."""

from nearsym.audits.moves import Entries
from nearsym.discovery.elements import Element
from nearsym.groups.group import FiniteGroup
from nearsym.physics.signed import SignedPermutation

_HEAD = '''import numpy as np
from nearsym.groups import {imports}


def signed(*entries):
    """A matrix that fills its places from others: −3 is the third entry with the other sign."""
    matrix = np.zeros((len(entries), len(entries)))
    for place, entry in enumerate(entries):
        matrix[place, abs(entry) - 1] = np.sign(entry)
    return matrix


{group}
symmetry = Symmetry(
    observation=group.representation({{
{observation}
    }}, "observation"),
    action=group.representation({{
{action}
    }}, "action"),{bounded}
)
'''
_MOVES = '''
places = {places}  # the entries of the state that move
moves = [
{moves}
]
quarter_turns = [
{turns}
]


def transform(g, state):
    """The state moved by element g; for nearsym.Declared(env, symmetry, transform)."""
    values = np.array([np.reshape(state[key], -1)[i] for key, i in places])
    moved = {{key: np.array(value) for key, value in state.items()}}
    turned = moves[g] @ values + np.pi / 2 * np.array(quarter_turns[g])
    for (key, i), value in zip(places, turned):
        moved[key].reshape(-1)[i] = value
    return moved
'''
_FACTORY = '''

def make_env():
    """The environment with this symmetry, for nearsym audit and nearsym train."""
    return nearsym.Declared({env}, symmetry{transform})
'''


def python_source(
    group: FiniteGroup, elements: list[Element], entries: Entries, *, bounded: bool, states: bool
) -> str:
    """`group`, `symmetry` and, with `states`, `transform`, as a module."""
    shown = [element.observation for element in elements]
    actions = [element.move.action for element in elements]
    text = _HEAD.format(
        imports=", ".join(sorted({"Symmetry", _maker(group).split("(")[0]})),
        group=f"group = {_maker(group)}",
        observation=_rows(group, shown),
        action=_rows(group, actions),
        bounded="" if bounded else "\n    bounded=False,",
    )
    if not states:
        return text
    moves = "\n".join(f"    signed({_numbers(e.move.state)})," for e in elements)
    turns = "\n".join(f"    {list(e.move.turns)}," for e in elements)
    places = [(key, int(i)) for key, i in entries.places]
    return text + _MOVES.format(places=places, moves=moves, turns=turns)


def with_factory(source: str, env: str) -> str:
    """The module, with a function `make_env` that makes the environment of a Gymnasium id or
    module:factory and declares what was found for it."""
    module, is_factory, function = env.partition(":")
    imports = [module if is_factory else "gymnasium", "nearsym"]
    made = f"{module}.{function}()" if is_factory else f'gymnasium.make("{env}")'
    transform = ", transform" if "def transform(" in source else ""
    head = "".join(f"import {name}\n" for name in imports)
    return head + source + _FACTORY.format(env=made, transform=transform)


def _maker(group: FiniteGroup) -> str:
    """The call that makes a group."""
    if group.name == "trivial":
        return "trivial()"
    if group.plane is not None:
        kind = "dihedral" if group.name.startswith("D") else "cyclic"
        return f"{kind}({group.name[1:]})"
    return f"FiniteGroup({group.name!r}, {list(group.elements)}, {group.mul.tolist()})"


def _rows(group: FiniteGroup, signed: list[SignedPermutation]) -> str:
    pairs = zip(group.elements, signed, strict=True)
    return "\n".join(f'        "{name}": signed({_numbers(p)}),' for name, p in pairs)


def _numbers(p: SignedPermutation) -> str:
    return ", ".join(str(int(s) * (int(i) + 1)) for i, s in zip(p.source, p.sign, strict=True))
