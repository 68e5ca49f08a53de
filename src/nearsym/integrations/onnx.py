"""A policy as one ONNX file, which acts without PyTorch and without nearsym."""

import contextlib
import copy
import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor, nn

from nearsym.errors import MissingExtraError, RunError, UsageError
from nearsym.networks.actor_critic import ActorCritic
from nearsym.networks.policy import MeanPolicy
from nearsym.training import atomic

TOLERANCE = 1e-5
"""The largest difference between ONNX Runtime and PyTorch, as a fraction of the action range."""

UNBOUNDED = 1e6
"""Bounds beyond this are none: many environments write "no bound" as the largest float."""

EXPORTERS = ("torch", "onnxscript", "onnx_ir")
"""Loggers of the libraries that convert a network."""


def export_policy(
    networks: ActorCritic,
    path: str | Path,
    *,
    obs_space: Box,
    action_space: Box,
    opset: int | None = None,
    samples: int = 64,
    seed: int = 0,
) -> dict[str, Any]:
    """Write the mean policy to one ONNX file, from raw observations to actions to step with.

        action = ½ (high + low) + ½ (high − low) · tanh(mean(obs))

    The input `obs` is (batch, *obs_space.shape) with the dtype of `obs_space`; images are
    channel-last bytes. The output `action` is (batch, n), float32, in the units of
    `action_space`: what `gymnasium.wrappers.RescaleAction` makes of the networks' [−1, 1]ⁿ. The
    batch may have any size.

    Before the file appears, ONNX Runtime and PyTorch act for `samples` random observations, in
    batches of several sizes: uniform inside the bounds of `obs_space`, standard normal where
    there are none. A difference of more than `TOLERANCE` is an error and leaves no file. The
    networks are copied, to the CPU and to float32, and stay as they are.

    Returns the file, its opset, its inputs and outputs, and the `largest_difference` found, as a
    fraction of the action range. The file tells the version of nearsym and the bounds of the
    actions (`metadata_props`).
    """
    onnx, runtime = _libraries()
    _check(networks, path := Path(path), obs_space, action_space, samples)
    policy = BoxPolicy(copy.deepcopy(MeanPolicy(networks)), action_space)
    obs = _draw(obs_space, samples, seed)
    batches = [obs[:1], obs[:2], obs]
    expected = [_act(policy, batch) for batch in batches]
    model = _convert(policy, obs_space, opset)
    _label(onnx, model, action_space)
    content = model.SerializeToString()
    difference = _compare(_run(runtime, content, batches), expected, action_space)
    _write(path, content)
    return {
        "file": str(path),
        "opset": _opset(model),
        "inputs": [_describe(onnx, value) for value in model.graph.input],
        "outputs": [_describe(onnx, value) for value in model.graph.output],
        "largest_difference": difference,
    }


class BoxPolicy(nn.Module):
    """Observations as an environment shows them to actions as it takes them.

    Actions stay inside the box, however its middle and its width are rounded.
    """

    low: Tensor
    high: Tensor
    middle: Tensor
    radius: Tensor

    def __init__(self, policy: nn.Module, action_space: Box):
        super().__init__()
        self.policy = policy
        low, high = action_space.low.astype(np.float64), action_space.high.astype(np.float64)
        bounds = {"low": low, "high": high, "middle": (high + low) / 2, "radius": (high - low) / 2}
        for name, value in bounds.items():
            self.register_buffer(name, torch.from_numpy(value))
        self.to("cpu", torch.float32).requires_grad_(False).eval()

    def forward(self, obs: Tensor) -> Tensor:
        vectors = obs.ndim == 2  # the encoder of images scales their bytes itself
        mean = self.policy(obs.to(torch.float32) if vectors else obs)
        return torch.clamp(self.middle + self.radius * mean, self.low, self.high)


def _libraries() -> tuple[ModuleType, ModuleType]:
    """onnx and onnxruntime; torch's exporter needs onnxscript as well."""
    try:
        import onnx
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("Exporting a policy", "onnx") from error
    return onnx, onnxruntime


def _check(
    networks: ActorCritic, path: Path, obs_space: Box, action_space: Box, samples: int
) -> None:
    if os.path.isdir(path):  # unlike Path.is_dir, it minds no forbidden folder on the way
        raise UsageError(f"`path` must name a file, got the folder {path}.")
    if path.suffix != ".onnx":
        raise UsageError(f"A policy is written to a .onnx file, got {path.name!r}.")
    if samples < 1:
        raise UsageError(f"`samples` must be at least 1, got {samples}.")
    if not isinstance(obs_space, Box) or not _readable(obs_space):
        raise UsageError(f"`obs_space` must be a Box of vectors or uint8 images, got {obs_space}.")
    if not isinstance(action_space, Box) or action_space.shape != (networks.action_size,):
        raise UsageError(
            f"`action_space` must be a Box of the {networks.action_size} numbers that the networks "
            f"act with, got {action_space}."
        )
    if not action_space.is_bounded() or (action_space.low >= action_space.high).any():
        raise UsageError(f"`action_space` must have bounds, low < high, got {action_space}.")


def _readable(space: Box) -> bool:
    return len(space.shape) == 1 or (len(space.shape) == 3 and space.dtype == np.uint8)


def _draw(space: Box, count: int, seed: int) -> np.ndarray:
    """Random observations: uniform where there are bounds on both sides, else standard normal."""
    rng = np.random.default_rng(seed)
    low, high = space.low.astype(np.float64), space.high.astype(np.float64)
    bounded = (low >= -UNBOUNDED) & (high <= UNBOUNDED)
    shape = (count, *space.shape)
    inside = rng.uniform(np.where(bounded, low, 0.0), np.where(bounded, high, 1.0), shape)
    obs = np.where(bounded, inside, rng.standard_normal(shape)).clip(low, high)
    return (np.rint(obs) if space.dtype.kind in "iub" else obs).astype(space.dtype)


def _act(policy: BoxPolicy, obs: np.ndarray) -> np.ndarray:
    """What PyTorch answers."""
    try:
        with torch.no_grad(), _float32():
            action = policy(torch.from_numpy(obs)).numpy()
    except RuntimeError as error:
        raise UsageError(
            f"The networks cannot read observations of the shape {obs.shape[1:]}: `obs_space` must "
            "be that of the environment they were built for."
        ) from error
    if not np.isfinite(action).all():
        raise RunError(
            "The networks answer with actions that are not finite, so no file was written. "
            "Export an earlier checkpoint."
        )
    return action


def _convert(policy: BoxPolicy, obs_space: Box, opset: int | None) -> Any:
    """The policy as an ONNX model that takes any number of observations."""
    example = torch.from_numpy(np.zeros((2, *obs_space.shape), obs_space.dtype))
    try:
        model = _trace(policy, example, opset)
    except torch.onnx.OnnxExporterError as error:
        raise RunError(
            "PyTorch cannot write these networks as ONNX, so no file was written: "
            f"{str(error.__cause__ or error).splitlines()[0]}"
        ) from error
    if opset is not None and _opset(model) != opset:
        raise UsageError(
            f"`opset` must be one that PyTorch {torch.__version__} can write, got {opset}. "
            "Leave it out to have the usual one."
        )
    if not model.graph.input[0].type.tensor_type.shape.dim[0].dim_param:
        raise RunError(
            "The networks compute with a fixed number of observations, so no file was written. "
            "In their code write x.shape[0] in place of len(x)."
        )
    return model


def _trace(policy: BoxPolicy, example: Tensor, opset: int | None) -> Any:
    with _quiet(), _float32():
        program = torch.onnx.export(
            policy,
            (example,),
            dynamo=True,
            verbose=False,
            opset_version=opset,
            input_names=["obs"],
            output_names=["action"],
            dynamic_shapes={"obs": {0: torch.export.Dim("batch")}},
        )
    assert program is not None  # it is None only from the exporter before this one
    return program.model_proto


def _float32() -> torch.autocast:
    """An autocast of the caller must not reach the file."""
    return torch.autocast("cpu", enabled=False)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporters print, log and warn of: it concerns their authors only."""
    levels = {logger: logger.level for logger in map(logging.getLogger, EXPORTERS)}
    nowhere = io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        warnings.simplefilter("ignore")
        try:
            for logger in levels:
                logger.setLevel(logging.CRITICAL + 1)
            yield
        finally:
            for logger, level in levels.items():
                logger.setLevel(level)


def _label(onnx: ModuleType, model: Any, action_space: Box) -> None:
    """Say what the file is, instead of the stack traces, with paths, that the exporter leaves."""
    graph = model.graph
    graph.ClearField("value_info")
    for item in (graph, *graph.node, *graph.input, *graph.output, *graph.initializer):
        item.ClearField("metadata_props")
        item.ClearField("doc_string")
    graph.name = "policy"
    bounds = {"action_low": action_space.low, "action_high": action_space.high}
    labels = {name: json.dumps(value.tolist()) for name, value in bounds.items()}
    with contextlib.suppress(metadata.PackageNotFoundError):  # nearsym run from its source folder
        labels["nearsym_version"] = metadata.version("nearsym")
    onnx.helper.set_model_props(model, labels)


def _opset(model: Any) -> int:
    return next(entry.version for entry in model.opset_import if entry.domain == "")


def _run(runtime: ModuleType, content: bytes, batches: list[np.ndarray]) -> list[np.ndarray]:
    """What ONNX Runtime answers."""
    state = runtime.capi.onnxruntime_pybind11_state
    refusals = (state.Fail, state.InvalidArgument, state.InvalidGraph, state.NotImplemented)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return [session.run(["action"], {"obs": batch})[0] for batch in batches]
    except refusals as error:
        raise RunError(
            f"ONNX Runtime {runtime.__version__} cannot run the exported policy, so no file was "
            "written. Try another `opset`, or none."
        ) from error


def _compare(found: list[np.ndarray], expected: list[np.ndarray], action_space: Box) -> float:
    """The largest difference as a fraction of the action range; refused where it is no rounding."""
    width = action_space.high.astype(np.float64) - action_space.low
    largest = max(
        float(np.max(np.abs(a.astype(np.float64) - b) / width))
        for a, b in zip(found, expected, strict=True)
    )
    if not largest <= TOLERANCE:
        raise RunError(
            f"The exported policy differs from the networks by {largest:.1e} of the action range, "
            f"more than {TOLERANCE:.0e}, so no file was written. Try another `opset`."
        )
    return largest


def _write(path: Path, content: bytes) -> None:
    atomic.make_place(path.parent, "path")
    with atomic.explain_errors("Writing the policy", path.parent, advice=atomic.TRY_AGAIN):
        atomic.replace(path, content)


def _describe(onnx: ModuleType, value: Any) -> dict[str, Any]:
    """Name, shape and dtype of an input or output."""
    tensor = value.type.tensor_type
    shape = [dim.dim_param if dim.dim_param else dim.dim_value for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    return {"name": value.name, "shape": shape, "dtype": dtype.name}
