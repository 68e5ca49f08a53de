"""What a checkpoint may hold: tensors and plain data, checked before anything is written.

`torch.load(weights_only=True)` reads tensors, numbers, strings and containers of them, and refuses
numpy's arrays and scalars. They are packed here, so that a state of an environment can go in as it
is; anything else is an error at the save, where it can still be put right.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

_ARRAY = "__ndarray__"
_BYTES = "__bytes__"
_KINDS = "biufcSU"  # of arrays: numbers and text
_BITS = 2000  # of whole numbers; torch reads no more than 2039
_LISTS = (list, tuple)
_ATOMS = (bool, int, float, str, type(None))


def pack(value: Any, where: str = "state") -> Any:
    """The value in tensors and plain data only; tensors are detached and moved to the CPU.

    >>> packed = pack({"gain": np.float64(0.5), "frames": np.arange(3)})
    >>> packed["gain"], type(packed["frames"]["data"]).__name__
    (0.5, 'Tensor')
    >>> unpack(packed)["frames"]
    array([0, 1, 2])
    """
    if isinstance(value, Tensor):
        return _own_storage(value.detach().cpu())
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        value = value.item()  # not plain for every kind: complex and longer numbers
    if isinstance(value, np.ndarray):
        return _pack_array(value, where)
    if isinstance(value, dict):
        for key in value:
            if type(key) not in (str, int):
                raise TypeError(f"A checkpoint's keys are strings or ints; {where} has {key!r}.")
        return {key: pack(entry, f"{where}[{key!r}]") for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(pack(entry, f"{where}[{i}]") for i, entry in enumerate(value))
    if type(value) is bytes:  # torch writes empty ones in a way that it does not read
        return {_BYTES: _as_tensor(value)}
    if type(value) in _ATOMS and not (type(value) is int and value.bit_length() > _BITS):
        return value
    raise TypeError(
        f"A checkpoint holds tensors, arrays and plain data; {where} is a {type(value).__name__}. "
        "Turn it into one of these before saving."
    )


def unpack(value: Any) -> Any:
    """The inverse of `pack`, up to numpy scalars, which stay Python numbers."""
    if type(value) is Tensor:
        return value
    if isinstance(value, dict):
        if _ARRAY in value:
            return _unpack_array(value)
        if _BYTES in value:
            return value[_BYTES].numpy().tobytes()
        return {key: unpack(entry) for key, entry in value.items()}
    if isinstance(value, _LISTS):
        return type(value)(unpack(entry) for entry in value)
    return value


def _pack_array(array: np.ndarray, where: str) -> dict[str, Any]:
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"A checkpoint holds arrays of numbers or text; {where} is {array.dtype}.")
    data = _as_tensor(array.tobytes())
    return {_ARRAY: array.dtype.str, "shape": list(array.shape), "data": data}


def _unpack_array(packed: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(packed[_ARRAY])
    if dtype.kind not in _KINDS:
        raise ValueError(f"an array of {dtype} is no plain data")
    data = packed["data"].numpy().tobytes()
    return np.frombuffer(data, dtype).reshape(packed["shape"]).copy()


def _as_tensor(data: bytes) -> Tensor:
    return torch.from_numpy(np.frombuffer(bytearray(data), np.uint8))


def _own_storage(tensor: Tensor) -> Tensor:
    """torch saves whole storages: a slice of a large tensor would take all of it along."""
    whole = tensor.untyped_storage().nbytes()
    return tensor if whole == tensor.numel() * tensor.element_size() else tensor.clone()
