"""How a group moves what enters and leaves a layer.

Every layer tells it by its properties `in_action` and `out_action`, so that a measure can ask any
layer whether it is equivariant. None stands for a motion that is not exact on arrays.
"""

from nearsym.groups.action import Action, ImageAction, Together, fits_grid
from nearsym.groups.group import FiniteGroup
from nearsym.groups.planar import PlanarGroup, PlanarRepresentation
from nearsym.groups.representation import AxisAction, Representation


def on_pixels(group: FiniteGroup | PlanarGroup) -> ImageAction | None:
    """Plain images, (batch, channels, height, width)."""
    return ImageAction(group) if isinstance(group, FiniteGroup) and fits_grid(group) else None


def on_maps(rep: Representation | PlanarRepresentation) -> Action | None:
    """Feature maps, (batch, size·channels, height, width), coordinate-major."""
    pixels = on_pixels(rep.group)
    if pixels is None or not isinstance(rep, Representation):
        return None
    return Together(rep.along(1), pixels)


def on_axis_1(rep: Representation | PlanarRepresentation) -> AxisAction | None:
    """(batch, size·channels, ...), coordinate-major, whatever the axes that follow hold."""
    return rep.along(1) if isinstance(rep, Representation) else None


def on_features(group: FiniteGroup) -> AxisAction:
    """Regular features, (..., |G|, channels)."""
    return group.regular().along(-2)


def on_vectors(rep: Representation, channels: int) -> AxisAction:
    """(..., size, channels), or (..., size) where there is one channel."""
    return rep.along(-1 if channels == 1 else -2)
