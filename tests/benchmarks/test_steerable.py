import sys
import types

import pytest
import torch
from torch import nn

from nearsym.benchmarks import steerable

KEYS = {"name", "seconds", "baseline_seconds", "ratio", "target", "ok"}


def test_rows_compare_with_the_plain_convolution():
    rows = steerable.rows(threads=1, quick=True)
    assert [row["name"] for row in rows] == [
        "steerable exact C4×16",
        "steerable approx C4×16",
    ]
    for row in rows:
        assert set(row) == KEYS
        assert row["ok"] == (row["ratio"] <= row["target"] == 1.25)


@pytest.fixture
def stand_in(monkeypatch):
    """A module with the few names of escnn that are used, around a plain convolution."""

    class FieldType:
        def __init__(self, space, representations):
            self.size = 4 * len(representations)

    class GeometricTensor:
        def __init__(self, tensor, kind):
            assert tensor.shape[1] == kind.size
            self.tensor = tensor

    class R2Conv(nn.Module):
        def __init__(self, in_type, out_type, kernel_size, padding):
            super().__init__()
            self.conv = nn.Conv2d(in_type.size, out_type.size, kernel_size, padding=padding)

        def forward(self, x):
            return GeometricTensor(self.conv(x.tensor), types.SimpleNamespace(size=64))

    escnn = types.ModuleType("escnn")
    escnn.__spec__ = types.SimpleNamespace(name="escnn")
    space = types.SimpleNamespace(regular_repr="regular")
    escnn.gspaces = types.SimpleNamespace(rot2dOnR2=lambda n: space)
    escnn.nn = types.SimpleNamespace(
        FieldType=FieldType, GeometricTensor=GeometricTensor, R2Conv=R2Conv
    )
    monkeypatch.setitem(sys.modules, "escnn", escnn)


@pytest.mark.usefixtures("stand_in")
def test_escnn_joins_where_it_is_installed():
    rows = steerable.rows(threads=1, quick=True)
    assert [row["name"] for row in rows[2:]] == [
        "steerable exact C4×16 to escnn, 64×41 px",
        "steerable exact C4×16 to escnn, 8×7 px",
    ]
    assert [row["target"] for row in rows] == [1.25, 1.25, 1.0, 1.0]


def test_threads_are_put_back():
    before = torch.get_num_threads()
    steerable.rows(threads=before + 1, quick=True)
    assert torch.get_num_threads() == before
