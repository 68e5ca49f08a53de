"""Image sizes at which strides and pooling keep exact equivariance.

A window that moves by a stride s from the left edge must end exactly at the right edge, else the
mirrored image is sampled at other places: n + padding − reach ≡ 0 (mod s), where a kernel of k taps
with dilation d reaches over d·(k − 1) + 1 pixels, and padding counts both sides.
"""

import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import nn

from nearsym.errors import UsageError
from nearsym.groups.action import fits_grid, grid_moves
from nearsym.groups.group import FiniteGroup
from nearsym.layers.residual_path import ResidualPath


class EquivarianceWarning(UserWarning):
    """Something makes a layer less symmetric than it could be.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.pool import SpatialPool2d
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     y = SpatialPool2d(dihedral(1), "max", 11)(torch.zeros(1, 1, 11, 24))
    >>> print(caught[0].message)
    SpatialPool2d with kernel 11, stride 11 and padding 0 is not exactly equivariant at a width of \
24 pixels; at 22 it would be. See nearsym.layers.exact_sizes.
    """


class Window(NamedTuple):
    """What a convolution or pooling reads along one axis of an image."""

    reach: int
    """Pixels from the first to the last tap."""
    stride: int
    before: int
    """Padding at the near edge."""
    after: int
    """Padding at the far edge; not the same for `padding="same"` and an even reach."""

    def overhang(self, n: int) -> int:
        """How many pixels at the far edge no window reaches."""
        return (n + self.before + self.after - self.reach) % self.stride

    def output(self, n: int) -> int | None:
        """The size after it, or None where it is not exact."""
        room = n + self.before + self.after - self.reach
        if room < 0 or room % self.stride or self.before != self.after:
            return None
        return room // self.stride + 1


def exact_sizes(network: nn.Module, sizes: Iterable[int] = range(1, 257)) -> list[int]:
    """Those of `sizes` (height and width of square images) at which every stride and pooling fits.

    Modules run in the order in which they were registered, as in an `nn.Sequential`; the two paths
    of a `ResidualPath` run side by side. What a `forward` does beside its modules is not seen.

    >>> layers = [nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2)]
    >>> exact_sizes(nn.Sequential(*layers), range(20, 40))
    [21, 25, 29, 33, 37]
    """
    return [n for n in sizes if all(_output(network, n, axis) is not None for axis in (0, 1))]


def check_exact(network: nn.Module, size: int) -> None:
    """Refuse a size that is not exact, with the nearest ones that are.

    >>> check_exact(nn.Conv2d(3, 8, 3, stride=2), 84)
    Traceback (most recent call last):
    nearsym.errors.UsageError: At 84 pixels the strides or poolings cut off one edge, so \
equivariance is not exact. Use 83 or 85.
    """
    if exact_sizes(network, [size]):
        return
    near = exact_sizes(network, range(max(1, size - 64), size + 65))
    nearest = sorted(sorted(near, key=lambda n: abs(n - size))[:2])
    if not nearest:
        raise UsageError(
            f"At {size} pixels equivariance is not exact, nor at any size near it. A kernel with "
            'an even number of taps and padding="same" is never exact: it pads one edge more.'
        )
    raise UsageError(
        f"At {size} pixels the strides or poolings cut off one edge, so equivariance is not "
        f"exact. Use {' or '.join(map(str, nearest))}."
    )


def warn_if_inexact(layer: Any, shape: Iterable[int]) -> None:
    """Warn, once for each layer description and size, where a stride cuts off an edge that some
    element of the layer's group exchanges with the opposite one."""
    fits = layer.stride == 1 or layer.group.order == 1
    if fits or torch.compiler.is_compiling():  # compiled code cannot warn
        return
    window = _window(layer, 0)
    for axis, n in zip(("height", "width"), tuple(shape)[-2:], strict=True):
        if window.overhang(n) and axis in _flipped(layer.group):
            _warn_once(type(layer).__name__, layer.kernel_size, window, axis, n)


@cache
def _flipped(group: Any) -> tuple[str, ...]:
    """The axes that some element reverses; both where the group is not one of the pixel grid."""
    if not isinstance(group, FiniteGroup) or not fits_grid(group):
        return "height", "width"
    moves = grid_moves(group)
    return ("height",) * any(m.flip_height for m in moves) + ("width",) * any(
        m.flip_width for m in moves
    )


@cache
def _warn_once(layer: str, kernel: int, window: Window, axis: str, size: int) -> None:
    warnings.warn(
        f"{layer} with kernel {kernel}, stride {window.stride} and padding {window.before} is not "
        f"exactly equivariant at a {axis} of {size} pixels; at {size - window.overhang(size)} it "
        "would be. See nearsym.layers.exact_sizes.",
        EquivarianceWarning,
        stacklevel=2,
    )


def _output(module: nn.Module, n: int | None, axis: int) -> int | None:
    """The size after a module along one axis, or None where it is not exact."""
    if n is None:
        return None
    if hasattr(module, "kernel_size") and hasattr(module, "stride"):
        return _window(module, axis).output(n)
    if isinstance(module, ResidualPath):
        after = {_output(path, n, axis) for path in (module.exact, module.free)}
        return after.pop() if len(after) == 1 else None
    for child in module._modules.values():  # `children` would skip a module that is used twice
        n = n if child is None else _output(child, n, axis)
    return n


def _window(layer: Any, axis: int) -> Window:
    """The window of a convolution or pooling along the height (axis 0) or the width (axis 1)."""
    options = (layer.kernel_size, layer.stride, layer.padding, getattr(layer, "dilation", 1))
    kernel, stride, padding, dilation = (v[axis] if isinstance(v, tuple) else v for v in options)
    spread = dilation * (kernel - 1)
    if padding == "same":  # torch pads the far edge more where the two cannot be equal
        return Window(spread + 1, stride, spread // 2, spread - spread // 2)
    padding = 0 if padding == "valid" else padding
    return Window(spread + 1, stride, padding, padding)
