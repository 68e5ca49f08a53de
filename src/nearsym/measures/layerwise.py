"""The equivariance error of every layer of a network, on the features that reach it."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from nearsym.groups.action import Action
from nearsym.groups.group import FiniteGroup
from nearsym.measures.equivariance import equivariance_error
from nearsym.protocols import EquivariantLayer

QUANTILES = (0.95, 1.0)


def layer_errors(
    parts: Mapping[str, nn.Module], run: Callable[[], Any], group: FiniteGroup
) -> dict[str, dict[str, dict[str, float]]]:
    """{layer: {element: {"mean", "q95", "largest"}}}, relative to the mean norm of the output.

    `run` passes a batch through the parts. Each layer is judged alone: its recorded input is moved
    and its output compared, so an error upstream does not count against the layers after it. A
    layer is any module with `in_action` and `out_action` (`nearsym.protocols.EquivariantLayer`);
    one that takes several tensors has a tuple of actions as its `in_action`. Layers inside another
    are not listed, nor are those over another group.

    >>> from nearsym.groups.catalog import dihedral
    >>> from nearsym.layers.linear import GroupLinear
    >>> net = nn.Sequential(GroupLinear(dihedral(1), 3, 4), nn.ReLU())
    >>> errors = layer_errors({"actor": net}, lambda: net(torch.randn(5, 2, 3)), dihedral(1))
    >>> list(errors), errors["actor.0"]["mirror_x"]["largest"] < 1e-5
    (['actor.0'], True)
    """
    inputs: dict[str, Any] = {}
    layers = _layers(parts, group)

    def recorder(name: str) -> Callable[[nn.Module, tuple[Any, ...]], None]:
        def record(module: nn.Module, args: tuple[Any, ...]) -> None:
            inputs.setdefault(name, args if len(args) > 1 else args[0])

        return record

    hooks = [
        layer.register_forward_pre_hook(recorder(name)) for name, (layer, _, _) in layers.items()
    ]
    try:
        with torch.no_grad():
            run()
    finally:
        for hook in hooks:
            hook.remove()
    return {
        name: {g: summary(e) for g, e in _errors(*layers[name], x).items()}
        for name, x in inputs.items()
    }


def summary(errors: Mapping[str, float]) -> dict[str, float]:
    """The contract's names for the quantiles."""
    return {"mean": errors["mean"], "q95": errors["q0.95"], "largest": errors["q1"]}


def layer_actions(layer: Any) -> tuple[Any, Action] | None:
    """How the group moves the input and the output of a layer; None where it does not say."""
    if not isinstance(layer, EquivariantLayer):
        return None
    act_in, act_out = layer.in_action, layer.out_action
    return None if act_in is None or act_out is None else (act_in, act_out)


def _layers(
    parts: Mapping[str, nn.Module], group: FiniteGroup
) -> dict[str, tuple[nn.Module, Any, Action]]:
    """Every outermost layer over the group, by name."""
    found: dict[str, tuple[nn.Module, Any, Action]] = {}
    for part, module in parts.items():
        for name, layer in module.named_modules():
            label = f"{part}.{name}" if name else part
            inside = any(label.startswith(f"{outer}.") for outer in found)
            actions = None if inside else layer_actions(layer)
            if actions is not None and actions[1].group == group:
                found[label] = (layer, *actions)
    return found


def _errors(layer: nn.Module, act_in: Any, act_out: Action, x: Any) -> dict[str, Any]:
    return equivariance_error(layer, x, act_in, act_out, relative=True, quantiles=QUANTILES)
