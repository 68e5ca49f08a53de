"""What every layer checks: its options when it is built, its input when it is called."""

from numbers import Integral

import torch
from torch import Tensor

from nearsym.errors import UsageError, unknown_name
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import Representation

RELAX = ("input", "output")


def check_group(layer: str, group: object) -> None:
    if not isinstance(group, FiniteGroup):
        raise UsageError(f"{layer} needs a group such as dihedral(2), got {group!r}.")


def check_representation(layer: str, representation: object) -> None:
    if not isinstance(representation, Representation):
        raise UsageError(
            f"{layer} needs a representation such as dihedral(2).regular(), got {representation!r}."
        )


def check_whole(layer: str, smallest: int = 1, **options: object) -> None:
    """Each option is a whole number not below `smallest`."""
    for name, value in options.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or value < smallest:  # type: ignore[operator]
            raise UsageError(
                f"{layer}: `{name}` must be a whole number ≥ {smallest}, got {value!r}."
            )


def check_relaxation(layer: str, relaxed: bool, filters: int, relax: str = "output") -> None:
    """Several filters make sense only with relaxed weights, which mix them."""
    check_whole(layer, filters=filters)
    if relax not in RELAX:
        raise unknown_name(f"relax of {layer}", relax, RELAX)
    if filters > 1 and not relaxed:
        raise UsageError(
            f"{layer}: {filters} filters without relaxed weights do no more than one filter. "
            "Use `relaxed=True`, or `filters=1`."
        )


def check_dtype(layer: str, x: Tensor, parameter: Tensor) -> None:
    """The input has the parameters' type; under autocast any floating type will do."""
    if not x.is_floating_point():
        raise UsageError(
            f"{layer} expects floating point input, got {x.dtype}. Convert it, e.g. x.float()."
        )
    if x.dtype != parameter.dtype and not torch.is_autocast_enabled(x.device.type):
        raise UsageError(
            f"{layer} has parameters of {parameter.dtype}, got input of {x.dtype}. "
            "Convert one of them with .to(dtype)."
        )


def check_tensor(layer: str, x: object) -> None:
    """The input is a tensor."""
    if not isinstance(x, Tensor):
        raise UsageError(f"{layer} expects a tensor, got {type(x).__name__}.")


def check_image(layer: str, x: Tensor, channels: int, parameter: Tensor) -> None:
    """A batch of images with the right number of channels."""
    check_tensor(layer, x)
    if x.ndim != 4 or x.shape[1] != channels:
        raise UsageError(
            f"{layer} expects (batch, {channels}, height, width), got shape {tuple(x.shape)}."
        )
    check_dtype(layer, x, parameter)


def check_last(layer: str, x: Tensor, shape: tuple[int, ...], parameter: Tensor) -> None:
    """The last axes of x have the given lengths."""
    check_tensor(layer, x)
    if tuple(x.shape[-len(shape) :]) != shape:
        axes = ", ".join(map(str, shape))
        raise UsageError(f"{layer} expects (..., {axes}), got shape {tuple(x.shape)}.")
    check_dtype(layer, x, parameter)
