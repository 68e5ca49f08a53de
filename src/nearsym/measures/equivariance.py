"""How far a function is from being equivariant, for each element of the group."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from nearsym.errors import UsageError, shown, unknown_name
from nearsym.groups.action import Action

OVER: dict[str, Callable[[np.ndarray], Any]] = {
    "mean": lambda errors: float(errors.mean()),
    "max": lambda errors: float(errors.max()),
    "each": lambda errors: errors,
}
"""What the errors over a batch can be made into."""


def equivariance_error(
    f: Callable[..., Any],
    x: Any,
    act_in: Any,
    act_out: Action,
    *,
    over: Literal["mean", "max", "each"] = "mean",
    relative: bool = False,
    quantiles: Sequence[float] = (),
    float64: bool = False,
) -> dict[str, Any]:
    """ee(f, g, x) = ‖f(gx) − g f(x)‖ for each element g but the identity, by name.

    The paper's Definition 1. `over` says what is made of the errors in the batch x: their "mean",
    their "max", or an array with the error at "each" x. Which elements hold up to an ε is said by
    `stabilizer`.

    `x` is a batch (first axis), numpy or torch; for a function of several arguments it is a tuple
    of batches and `act_in` a tuple of actions. `relative` divides by the mean of ‖f(x)‖.

    With `quantiles` each element gets a dictionary instead of a number: the mean and the
    quantiles over the batch, by name ("mean", "q0.95", …). With `float64` the error is measured on
    a copy of the module f, and on x, in double precision: what remains is not rounding.

    >>> from nearsym.groups.catalog import dihedral
    >>> rho = dihedral(1).sign()
    >>> equivariance_error(lambda x: 2 * x + 0.5, np.ones((4, 1)), rho, rho)
    {'mirror_x': 1.0}
    >>> x = np.array([[1.0], [2.0]])
    >>> equivariance_error(np.square, x, rho, rho, over="each")
    {'mirror_x': array([2., 8.])}
    """
    _check_options(over, quantiles)
    for name, act in (("act_in", act_in), ("act_out", act_out)):
        for one in act if isinstance(act, tuple) else (act,):
            if not hasattr(one, "act"):
                raise UsageError(
                    f"`{name}` is a representation, such as group.regular(), or another action of "
                    f"the group; got {shown(one)}."
                )
    group = act_out.group
    if float64:
        f, x = _double(f), _double(x)
    with torch.no_grad():
        y = _call(f, x)
        scale = float(_norms(y).mean()) if relative else 1.0
        errors = {
            group.elements[g]: _norms(_call(f, _move(act_in, g, x)) - act_out.act(g, y))
            for g in range(1, group.order)
        }
    # f = 0 everywhere is equivariant: its error is 0, not 0/0.
    scale = 1.0 if scale == 0.0 else scale
    made = partial(_with_quantiles, levels=quantiles) if quantiles else OVER[over]
    return {name: made(e / scale) for name, e in errors.items()}


def numeric_floor(f: nn.Module, x: Any, *, relative: bool = False) -> float:
    """The mean of ‖f(x) − f₆₄(x)‖: how much of an error is rounding.

    f₆₄ is the same module in double precision. An equivariance error of a few times this value
    says nothing about the symmetry.

    >>> numeric_floor(nn.Linear(3, 3), torch.randn(8, 3), relative=True) < 1e-5
    True
    """
    with torch.no_grad():
        exact = _call(_double(f), _double(x))
        gap = _norms(_double(_call(f, x)) - exact).mean()
        scale = float(_norms(exact).mean()) if relative else 1.0
    return float(gap) / (1.0 if scale == 0.0 else scale)


def _call(f: Callable[..., Any], x: Any) -> Any:
    return f(*x) if isinstance(x, tuple) else f(x)


def _move(act: Any, g: int, x: Any) -> Any:
    if not isinstance(x, tuple):
        return act.act(g, x)
    if not isinstance(act, tuple) or len(act) != len(x):
        raise UsageError(
            f"A function of {len(x)} arguments needs a tuple of {len(x)} actions, got {act!r}."
        )
    return tuple(a.act(g, part) for a, part in zip(act, x, strict=True))


def _double(value: Any) -> Any:
    """A module (copied), tensor, array or tuple of them in double precision."""
    if isinstance(value, tuple):
        return tuple(map(_double, value))
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).double()
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if np.issubdtype(value.dtype, np.floating) else value
    return value


def _norms(y: Any) -> np.ndarray:
    """The Euclidean norm of each sample of a batch."""
    flat = y.detach().double().cpu().numpy() if isinstance(y, torch.Tensor) else np.asarray(y)
    if flat.ndim == 0:
        raise UsageError("equivariance_error needs a function of batches: its output has no axis.")
    if len(flat) == 0:
        raise UsageError("equivariance_error needs at least one sample, got an empty batch.")
    return np.linalg.norm(flat.astype(np.float64).reshape(len(flat), -1), axis=1)


def _with_quantiles(errors: np.ndarray, levels: Sequence[float]) -> dict[str, float]:
    found = {f"q{q:g}": float(np.quantile(errors, q)) for q in levels}
    return {"mean": float(errors.mean())} | found


def _check_options(over: str, quantiles: Sequence[float]) -> None:
    if over not in OVER:
        raise unknown_name("value of `over`", over, OVER)
    if quantiles and over != "mean":
        raise UsageError(f"`quantiles` come beside the mean: leave out `over` {over!r}, or them.")
    wrong = [q for q in quantiles if not 0.0 <= q <= 1.0]
    if wrong:
        raise UsageError(f"Quantiles lie between 0 and 1, such as 0.95, got {wrong[0]!r}.")
