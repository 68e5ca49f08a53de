"""`nearsym export`."""

from dataclasses import dataclass
from typing import Any, Literal

from nearsym.cli.options import Positional


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a trained policy as one ONNX file, checked against PyTorch.

    nearsym export runs/cartpole-swingup-seed0 policy.onnx
    """

    run: Positional[str]
    """a run folder"""
    file: Positional[str]
    """where to write, ending in .onnx"""
    checkpoint: Literal["best", "last"] = "best"
    """which weights"""
    trust_task: bool = False
    """import the module:factory that the run folder names"""


def run(args: Export) -> dict[str, Any]:
    """`{"file", "opset", "inputs", "outputs", "largest_difference"}`."""
    from nearsym.runs.run import Run

    return Run(args.run, trust_task=args.trust_task).export(args.file, checkpoint=args.checkpoint)


def show(result: dict[str, Any]) -> None:
    """The shapes for people."""
    for direction in ("inputs", "outputs"):
        for tensor in result[direction]:
            shape = " × ".join(map(str, tensor["shape"]))
            print(f"{direction[:-1]:<7} {tensor['name']:<8} {shape}  {tensor['dtype']}")
    print(
        f"Wrote {result['file']} (opset {result['opset']}); the largest difference from PyTorch is "
        f"{result['largest_difference']:.1e}."
    )
