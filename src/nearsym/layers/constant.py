"""Fixed arrays inside layers."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn


def sent(x: Tensor, device: torch.device) -> Tensor:
    """A tensor on a device, without waiting for it: a GPU fetches pinned memory by itself.

    >>> sent(torch.ones(2), torch.device("cpu"))
    tensor([1., 1.])
    """
    if device.type != "cuda" or x.device.type != "cpu":
        return x.to(device)
    return x.pin_memory().to(device, non_blocking=True)


class Constant(nn.Module):
    """A fixed array that follows its layer to any device and floating type at full precision.

    A plain buffer would keep float32's rounding after `.double()`. It is not in the `state_dict`.
    """

    value: Tensor

    def __init__(self, array: np.ndarray):
        super().__init__()
        self._exact = torch.tensor(array, dtype=torch.float64)
        self.register_buffer("value", self._exact.to(torch.get_default_dtype()), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Constant":
        super()._apply(fn, recurse)
        self.value = self._exact.to(self.value)
        return self

    def forward(self) -> Tensor:
        return self.value

    def extra_repr(self) -> str:
        return "×".join(map(str, self.value.shape))
