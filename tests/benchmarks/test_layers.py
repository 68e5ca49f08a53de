"""The layer benchmark on a tiny budget."""

import logging

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


def test_every_row_compares_with_the_plain_layer(monkeypatch, caplog):
    monkeypatch.setattr(layers, "has_bfloat16", lambda: False)
    before = torch.get_num_threads()
    with caplog.at_level(logging.WARNING):
        rows = layers.rows(threads=1, quick=True)
    assert torch.get_num_threads() == before
    assert "bf16 is left out" in caplog.text
    assert [row["name"] for row in rows] == FP32 + LINEAR
    for row in rows:
        assert set(row) == KEYS
        assert row["ok"] == (row["ratio"] <= row["target"])


def test_bfloat16_is_measured_where_the_processor_has_it(monkeypatch):
    monkeypatch.setattr(layers, "has_bfloat16", lambda: True)
    assert layers._float_types() == [torch.float32, torch.bfloat16]
    names = [row["name"] for row in layers._conv_rows(*layers.CONVS[0], torch.bfloat16, 2, 1)]
    assert names == ["encoder exact D1×22 bf16", "encoder approx D1×22 bf16"]


def test_the_encoder_takes_85_pixels_to_7():
    net = layers._group_encoder(*layers.CONVS[1], relaxed=True)
    assert net(torch.zeros(1, 9, 85, 85)).shape == (1, 64, 7, 7)
