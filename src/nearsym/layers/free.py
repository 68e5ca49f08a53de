"""The unconstrained linear layer that stands beside an equivariant one."""

import math
from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor, nn

from nearsym.layers.checks import check_last


class FreeLinear(nn.Module):
    """A dense linear map between features of several axes, flattened and put back.

    >>> import torch
    >>> FreeLinear((2, 4), (2, 8))(torch.zeros(5, 2, 4)).shape
    torch.Size([5, 2, 8])
    """

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], *, bias: bool = True):
        super().__init__()
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        self.linear = nn.Linear(math.prod(in_shape), math.prod(out_shape), bias=bias)

    def forward(self, x: Float[Tensor, "*batch_and_in"]) -> Float[Tensor, "*batch_and_out"]:
        check_last("FreeLinear", x, self.in_shape, self.linear.weight)
        batch = x.shape[: x.ndim - len(self.in_shape)]
        return self.linear(x.reshape(*batch, math.prod(self.in_shape))).reshape(
            *batch, *self.out_shape
        )
