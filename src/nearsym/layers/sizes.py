"""Image sizes at which strides and pooling keep exact equivariance.

A window that moves by a stride s from the left edge must end exactly at the right edge, else the
mirrored image is sampled at other places: n + 2·padding − kernel ≡ 0 (mod s).
"""

import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

import torch
from torch import nn

from nearsym.errors import UsageError


class EquivarianceWarning(UserWarning):
    """Something makes a layer less symmetric than it could be."""


def exact_sizes(network: nn.Module, sizes: Iterable[int] = range(1, 257)) -> list[int]:
    """Those of `sizes` (height or width) at which every stride and pooling fits.

    The network's convolutions and poolings are taken in the order of `modules()`, as they run in
    an `nn.Sequential`.

    >>> layers = [nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2)]
    >>> exact_sizes(nn.Sequential(*layers), range(20, 40))
    [21, 25, 29, 33, 37]
    """
    windows = [_window(m) for m in network.modules() if hasattr(m, "kernel_size")]
    return [n for n in sizes if _fits(n, windows)]


def check_exact(network: nn.Module, size: int) -> None:
    """Refuse a size that is not exact, with the nearest ones that are."""
    if exact_sizes(network, [size]):
        return
    near = exact_sizes(network, range(max(1, size - 64), size + 65))
    nearest = sorted(sorted(near, key=lambda n: abs(n - size))[:2])
    hint = f" Use {' or '.join(map(str, nearest))}." if nearest else ""
    raise UsageError(
        f"At {size} pixels the strides or poolings cut off one edge, so equivariance is not "
        f"exact.{hint}"
    )


def warn_if_inexact(layer: Any, shape: Iterable[int]) -> None:
    """Warn, once for each layer description and size, where a stride cuts off one edge."""
    if layer.group.order == 1 or torch.compiler.is_compiling():  # compiled code cannot warn
        return
    kernel, stride, padding = _window(layer)
    for n in tuple(shape)[-2:]:
        if (n + 2 * padding - kernel) % stride:
            _warn_once(type(layer).__name__, kernel, stride, padding, n)


@cache
def _warn_once(layer: str, kernel: int, stride: int, padding: int, size: int) -> None:
    warnings.warn(
        f"{layer} with kernel {kernel}, stride {stride} and padding {padding} is not exactly "
        f"equivariant at {size} pixels; at {size - _overhang(size, (kernel, stride, padding))} it "
        "would be. See nearsym.layers.sizes.exact_sizes.",
        EquivarianceWarning,
        stacklevel=2,
    )


def _window(layer: Any) -> tuple[int, int, int]:
    """(kernel, stride, padding) of a convolution or pooling with square windows."""
    kernel, stride, padding = layer.kernel_size, layer.stride, layer.padding
    return tuple(v[0] if isinstance(v, tuple) else v for v in (kernel, stride, padding))


def _overhang(n: int, window: tuple[int, int, int]) -> int:
    kernel, stride, padding = window
    return (n + 2 * padding - kernel) % stride


def _fits(n: int, windows: Iterable[tuple[int, int, int]]) -> bool:
    for kernel, stride, padding in windows:
        n += 2 * padding - kernel
        if n < 0 or n % stride:
            return False
        n = n // stride + 1
    return True
