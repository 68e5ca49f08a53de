"""How well a steerable layer follows a turn by any angle, also by one that fits no grid."""

import cmath
import math

import numpy as np
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.planar import PlanarRepresentation, rotation
from nearsym.layers.kernel_basis import AnyRepresentation
from nearsym.layers.rings import offsets
from nearsym.layers.smooth_parts import smooth_parts
from nearsym.layers.steerable import SteerableConv2d


def turning_error(layer: nn.Module, degrees: float, *, smoothness: float = 2.0) -> float:
    """√(E‖f(gx) − g f(x)‖² / E‖f(x)‖²) for the turn g by some degrees and the layer f as it stands.

    A turned image shows what lay between the pixels, so the error depends on how smooth images are:
    x is white noise, independent in each coordinate and channel, blurred by a Gaussian of
    `smoothness` pixels. The expectations are exact sums (`layers/smooth_parts.py`), far from the
    borders. The bias, which follows every turn, is left out.

    >>> from nearsym.groups.planar import so2
    >>> layer = SteerableConv2d(so2().trivial(), so2().irrep(1), 1, 4, 5).double()
    >>> turning_error(layer, 90.0) < 1e-12 < turning_error(layer, 45.0) < 0.01
    True
    """
    if not isinstance(layer, SteerableConv2d):
        raise UsageError(f"turning_error measures a SteerableConv2d, got {type(layer).__name__}.")
    if not smoothness > 0:
        raise UsageError(f"`smoothness` must be a number of pixels > 0, got {smoothness}.")
    kernel = layer.kernel().detach().double().cpu().flatten(2).numpy()
    rho_in = np.kron(_matrix(layer.in_rep, degrees), np.eye(layer.in_channels))
    rho_out = np.kron(_matrix(layer.out_rep, degrees), np.eye(layer.out_channels))
    first_turned = np.einsum("oip,ij->ojp", kernel, rho_in)
    turned_after = np.einsum("on,nip->oip", rho_out, kernel)
    frequencies, parts = smooth_parts(offsets(layer.kernel_size), smoothness)
    gap = whole = 0.0
    for m in np.unique(frequencies):  # a turned image has the part φ(g⁻¹y) = φ(y) exp(−imα)
        part, phase = parts[frequencies == m].T, cmath.exp(-1j * m * math.radians(degrees))
        gap += _energy((phase * first_turned - turned_after) @ part)
        whole += _energy(kernel @ part)
    return math.sqrt(gap / whole) if whole > 0 else 0.0  # f = 0 follows every turn


def _energy(values: np.ndarray) -> float:
    return float((np.abs(values) ** 2).sum())


def _matrix(rep: AnyRepresentation, degrees: float) -> np.ndarray:
    """ρ(g) of the turn g."""
    if isinstance(rep, PlanarRepresentation):
        return rep.matrix(math.radians(degrees))
    turn = rotation(math.radians(degrees))
    assert rep.group.plane is not None  # else there would be no layer
    found = np.flatnonzero(np.abs(rep.group.plane - turn).max(axis=(1, 2)) < 1e-9)
    if len(found) == 0:
        raise UsageError(
            f"{rep.group} has no turn by {degrees} degrees. Choose one of its elements: "
            f"{', '.join(rep.group.elements)}."
        )
    return rep.matrices[found[0]]
