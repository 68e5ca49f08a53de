"""The layer benchmark on a tiny budget."""

import pytest
import torch

from nearsym.benchmarks import layers

KEYS = {"name", "seconds", "baseline_seconds", "ratio", "target", "ok"}
FP32 = [
    "encoder exact D1×22 fp32",
    "encoder approx D1×22 fp32",
    "encoder exact D2×16 fp32",
    "encoder approx D2×16 fp32",
]
LINEAR = [
    "linear exact D1×720",
    "linear approx D1×720",
    "linear exact D2×512",
    "linear approx D2×512",
]


@pytest.mark.longer
@pytest.mark.parametrize("has_it", [True, False])
def test_every_row_compares_with_the_plain_layer(monkeypatch, has_it):
    monkeypatch.setattr(layers, "has_bfloat16", lambda: has_it)
    before = torch.get_num_threads()
    rows = layers.rows(threads=1, quick=True)
    assert torch.get_num_threads() == before
    bf16 = [name.replace("fp32", "bf16" if has_it else "bf16, emulated") for name in FP32]
    assert [row["name"] for row in rows] == FP32 + bf16 + LINEAR
    for row in rows:
        assert set(row) == KEYS
        assert row["ok"] == (row["ratio"] <= row["target"])


def test_the_encoder_takes_85_pixels_to_7():
    net = layers._group_encoder(*layers.CONVS[1], relaxed=True)
    assert net(torch.zeros(1, 9, 85, 85)).shape == (1, 64, 7, 7)
