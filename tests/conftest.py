"""What all tests share: checked shapes, a bound seed, the two float types and their tolerances."""

import numpy as np
import pytest
import torch
from hypothesis import settings
from jaxtyping import config

from runtime_types import install

install("nearsym")  # before anything imports it

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("ci")

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


@pytest.fixture(autouse=True)
def _bound_seed():
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 (libraries under test may use it)


@pytest.fixture
def unchecked():
    """Without the check of shapes, through which torch cannot compile."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(params=[torch.float32, torch.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def tolerance(dtype):
    """The largest relative error that counts as rounding."""
    return TOLERANCE[dtype]
