"""Act with a policy that `nearsym export` wrote: onnxruntime alone, neither torch nor nearsym.

python examples/run_onnx.py policy.onnx [--obs observations.npy]
"""

import argparse

import numpy as np
import onnxruntime

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("policy", help="the .onnx file")
parser.add_argument("--obs", help="a .npy file with one observation or a batch (default: zeros)")
args = parser.parse_args()

session = onnxruntime.InferenceSession(args.policy, providers=["CPUExecutionProvider"])
entry = session.get_inputs()[0]
shape, kind = entry.shape[1:], entry.type.removeprefix("tensor(").removesuffix(")")
dtype = {"float": "float32", "double": "float64"}.get(kind, kind)
obs = np.zeros(shape) if args.obs is None else np.load(args.obs)
if list(obs.shape[-len(shape) :]) != shape or obs.ndim > len(shape) + 1:
    parser.error(f"{args.policy} reads observations of shape {shape}, got {list(obs.shape)}")
for action in session.run(None, {entry.name: obs.reshape(-1, *shape).astype(dtype)})[0]:
    print(*action)
