"""What is no tensor is refused by every layer in one sentence."""

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.groups.catalog import dihedral
from nearsym.layers import GroupConv2d, GroupLinear, LiftingConv2d, ProjectLinear, SteerableConv2d

MIRROR = dihedral(1)
LAYERS = [
    GroupLinear(MIRROR, 2, 3),
    ProjectLinear(MIRROR.sign(), 2),
    LiftingConv2d(MIRROR, 3, 4, 3),
    GroupConv2d(MIRROR, 3, 4, 3),
    SteerableConv2d(MIRROR.trivial(), MIRROR.regular(), 2, 2, 3),
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: type(layer).__name__)
@pytest.mark.parametrize("given", [None, "text", np.ones((2, 2)), [1.0]], ids=type)
def test_it_is_refused(layer, given):
    with pytest.raises(UsageError, match=f"expects a tensor, got {type(given).__name__}"):
        layer(given)
