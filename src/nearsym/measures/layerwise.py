"""The equivariance error of every layer of a network, on the features that reach it."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from nearsym.groups.action import Action, ImageAction, Together
from nearsym.groups.group import FiniteGroup
from nearsym.groups.representation import regular
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.lift import LiftLinear, ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.residual import ResidualPath
from nearsym.layers.steerable import SteerableConv2d
from nearsym.measures.equivariance import equivariance_error

QUANTILES = (0.95, 1.0)


def layer_errors(
    parts: Mapping[str, nn.Module], run: Callable[[], Any], group: FiniteGroup
) -> dict[str, dict[str, dict[str, float]]]:
    """{layer: {element: {"mean", "q95", "largest"}}}, relative to the mean norm of the output.

    `run` passes a batch through the parts. Each layer is judged alone: its recorded input is moved
    and its output compared, so an error upstream does not count against the layers after it.
    """
    inputs: dict[str, Tensor] = {}
    layers = _layers(parts, group)

    def recorder(name: str) -> Callable[[nn.Module, tuple[Any, ...]], None]:
        def record(module: nn.Module, args: tuple[Any, ...]) -> None:
            inputs.setdefault(name, args[0].detach())

        return record

    hooks = [
        layer.register_forward_pre_hook(recorder(name)) for name, (layer, _, _) in layers.items()
    ]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()
    return {
        name: {g: summary(e) for g, e in _errors(*layers[name], x).items()}
        for name, x in inputs.items()
    }


def summary(errors: Mapping[str, float]) -> dict[str, float]:
    """The contract's names for the quantiles."""
    return {"mean": errors["mean"], "q95": errors["q0.95"], "largest": errors["q1"]}


def layer_actions(layer: nn.Module) -> tuple[Action, Action] | None:
    """How the group moves the input and the output of a layer; None for other modules."""
    if isinstance(layer, ResidualPath):
        return layer_actions(layer.exact)
    if isinstance(layer, LiftingConv2d):
        return ImageAction(layer.group), _maps(layer.group)
    if isinstance(layer, GroupConv2d):
        return _maps(layer.group), _maps(layer.group)
    if isinstance(layer, SteerableConv2d) and isinstance(layer.group, FiniteGroup):
        pixels = ImageAction(layer.group)
        ends = (layer.in_rep.along(1), layer.out_rep.along(1))  # type: ignore[union-attr]
        return Together(ends[0], pixels), Together(ends[1], pixels)
    if isinstance(layer, GroupLinear):
        features = regular(layer.group).along(-2)
        return features, features
    if isinstance(layer, LiftLinear):
        axis = -1 if layer.in_channels == 1 else -2
        return layer.in_rep.along(axis), regular(layer.group).along(-2)
    if isinstance(layer, ProjectLinear):
        axis = -1 if layer.out_channels == 1 else -2
        return regular(layer.group).along(-2), layer.out_rep.along(axis)
    return None


def _layers(
    parts: Mapping[str, nn.Module], group: FiniteGroup
) -> dict[str, tuple[nn.Module, Action, Action]]:
    """Every outermost layer over the group, by name."""
    found: dict[str, tuple[nn.Module, Action, Action]] = {}
    for part, module in parts.items():
        for name, layer in module.named_modules():
            label = f"{part}.{name}" if name else part
            inside = any(label.startswith(f"{outer}.") for outer in found)
            actions = None if inside else layer_actions(layer)
            if actions is not None and actions[0].group == group:
                found[label] = (layer, *actions)
    return found


def _errors(layer: nn.Module, act_in: Action, act_out: Action, x: Tensor) -> dict[str, Any]:
    return equivariance_error(layer, x, act_in, act_out, relative=True, quantiles=QUANTILES)


def _maps(group: FiniteGroup) -> Action:
    """Feature maps over positions and elements, channels group-major."""
    return Together(regular(group).along(1), ImageAction(group))
