"""Measures of functions and networks: equivariance errors, layer by layer, the elements that
hold up to an ε, relaxed weights and what they say is left of a symmetry.

>>> import numpy as np
>>> from nearsym.groups import dihedral
>>> from nearsym.measures import equivariance_error
>>> rho = dihedral(1).sign()
>>> equivariance_error(np.tanh, np.linspace(-1, 1, 5)[:, None], rho, rho)
{'mirror_x': 0.0}
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.measures.cosets import LeftInRun as LeftInRun
    from nearsym.measures.cosets import coset_shares as coset_shares
    from nearsym.measures.cosets import left_in_run as left_in_run
    from nearsym.measures.equivariance import equivariance_error as equivariance_error
    from nearsym.measures.equivariance import numeric_floor as numeric_floor
    from nearsym.measures.layerwise import layer_errors as layer_errors
    from nearsym.measures.relaxation import Spread as Spread
    from nearsym.measures.relaxation import relaxation_summary as relaxation_summary
    from nearsym.measures.stabilizers import Stabilizer as Stabilizer
    from nearsym.measures.stabilizers import stabilizer as stabilizer
    from nearsym.measures.turning import turning_error as turning_error
    from nearsym.measures.what_is_left import LeftOver as LeftOver
    from nearsym.measures.what_is_left import left_over as left_over

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "LeftInRun": ".cosets",
        "LeftOver": ".what_is_left",
        "Spread": ".relaxation",
        "Stabilizer": ".stabilizers",
        "coset_shares": ".cosets",
        "equivariance_error": ".equivariance",
        "layer_errors": ".layerwise",
        "left_in_run": ".cosets",
        "left_over": ".what_is_left",
        "numeric_floor": ".equivariance",
        "relaxation_summary": ".relaxation",
        "stabilizer": ".stabilizers",
        "turning_error": ".turning",
    },
)
