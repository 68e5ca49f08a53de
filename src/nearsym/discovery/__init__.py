"""Symmetries found, rather than declared.

What people call:

    search        `discover`: the symmetries of an environment whose state can be set
    recorded      `guess_symmetries`: what recorded transitions suggest; guesses with scores

What these are made of:

    elements      one symmetry: how states, actions and observations move
    structure     moves that a MuJoCo model's bodies and joints suggest
    trials        candidates, tried on samples: what is exact, near, or off in the reward alone
    naming        from elements to a group that has a name
    declaration   the Python source to paste
    result        what was found, as a table and as plain data
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.discovery.recorded import Guess as Guess
    from nearsym.discovery.recorded import Guesses as Guesses
    from nearsym.discovery.recorded import guess_symmetries as guess_symmetries
    from nearsym.discovery.result import Discovery as Discovery
    from nearsym.discovery.result import FoundElement as FoundElement
    from nearsym.discovery.search import discover as discover

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Discovery": ".result",
        "FoundElement": ".result",
        "Guess": ".recorded",
        "Guesses": ".recorded",
        "discover": ".search",
        "guess_symmetries": ".recorded",
    },
)
