"""Measures of functions and networks: equivariance errors, layer by layer, relaxed weights.

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
    from nearsym.measures.equivariance import equivariance_error as equivariance_error
    from nearsym.measures.equivariance import numeric_floor as numeric_floor
    from nearsym.measures.equivariance import stabilizer as stabilizer
    from nearsym.measures.layerwise import layer_errors as layer_errors
    from nearsym.measures.relaxation import Spread as Spread
    from nearsym.measures.relaxation import relaxation_summary as relaxation_summary

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Spread": ".relaxation",
        "equivariance_error": ".equivariance",
        "layer_errors": ".layerwise",
        "numeric_floor": ".equivariance",
        "relaxation_summary": ".relaxation",
        "stabilizer": ".equivariance",
    },
)
