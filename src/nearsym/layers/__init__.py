"""Equivariant layers, exact and relaxed: the mathematics of the paper as torch modules.

>>> from nearsym.groups import dihedral
>>> from nearsym.layers import GroupLinear
>>> GroupLinear(dihedral(2), 8, 16, relaxed=True)
GroupLinear(8·regular → 16·regular of D2, relaxed input, filters=1)
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.layers.conv import GroupConv2d as GroupConv2d
    from nearsym.layers.conv import LiftingConv2d as LiftingConv2d
    from nearsym.layers.equivariant_linear import EquivariantLinear as EquivariantLinear
    from nearsym.layers.free import FreeLinear as FreeLinear
    from nearsym.layers.init import orthogonal_ as orthogonal_
    from nearsym.layers.lift import LiftLinear as LiftLinear
    from nearsym.layers.lift import ProjectLinear as ProjectLinear
    from nearsym.layers.linear import GroupLinear as GroupLinear
    from nearsym.layers.nonlinearity import Gated as Gated
    from nearsym.layers.nonlinearity import NormReLU as NormReLU
    from nearsym.layers.nonlinearity import Pointwise as Pointwise
    from nearsym.layers.norm import GroupImageNorm as GroupImageNorm
    from nearsym.layers.norm import GroupLayerNorm as GroupLayerNorm
    from nearsym.layers.pool import InvariantPool as InvariantPool
    from nearsym.layers.pool import SpatialPool2d as SpatialPool2d
    from nearsym.layers.regular import regular_features as regular_features
    from nearsym.layers.relaxation import relaxed_weights as relaxed_weights
    from nearsym.layers.relaxation import spread_penalty as spread_penalty
    from nearsym.layers.residual_path import ResidualPath as ResidualPath
    from nearsym.layers.residual_path import residual as residual
    from nearsym.layers.residual_path import residual_penalties as residual_penalties
    from nearsym.layers.rings import Rings as Rings
    from nearsym.layers.scale import ScaleConv1d as ScaleConv1d
    from nearsym.layers.scale import ScaleLiftingConv1d as ScaleLiftingConv1d
    from nearsym.layers.sizes import EquivarianceWarning as EquivarianceWarning
    from nearsym.layers.sizes import check_exact as check_exact
    from nearsym.layers.sizes import exact_sizes as exact_sizes
    from nearsym.layers.steerable import SteerableConv2d as SteerableConv2d
    from nearsym.layers.temporal import TemporalReadout as TemporalReadout
    from nearsym.layers.temporal import TranslationConv1d as TranslationConv1d

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "EquivarianceWarning": ".sizes",
        "EquivariantLinear": ".equivariant_linear",
        "FreeLinear": ".free",
        "Gated": ".nonlinearity",
        "GroupConv2d": ".conv",
        "GroupImageNorm": ".norm",
        "GroupLayerNorm": ".norm",
        "GroupLinear": ".linear",
        "InvariantPool": ".pool",
        "LiftLinear": ".lift",
        "LiftingConv2d": ".conv",
        "NormReLU": ".nonlinearity",
        "Pointwise": ".nonlinearity",
        "ProjectLinear": ".lift",
        "ResidualPath": ".residual_path",
        "Rings": ".rings",
        "ScaleConv1d": ".scale",
        "ScaleLiftingConv1d": ".scale",
        "SpatialPool2d": ".pool",
        "SteerableConv2d": ".steerable",
        "TemporalReadout": ".temporal",
        "TranslationConv1d": ".temporal",
        "check_exact": ".sizes",
        "exact_sizes": ".sizes",
        "orthogonal_": ".init",
        "regular_features": ".regular",
        "relaxed_weights": ".relaxation",
        "residual": ".residual_path",
        "residual_penalties": ".residual_path",
        "spread_penalty": ".relaxation",
    },
)
