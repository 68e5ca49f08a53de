"""What an export refuses, in words; a refusal leaves no file, and an old one as it was."""

import errno
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
from gymnasium.spaces import Box, Discrete
from torch import nn

from nearsym.errors import MissingExtraError, RunError, UsageError
from nearsym.integrations import onnx as exporter
from nearsym.integrations.onnx import export_policy
from nearsym.training import atomic


@pytest.fixture
def refused(make_networks, make_space, actions, tmp_path):
    """Exports a small policy, expects an error of one paragraph and no file, and gives its text."""

    def call(kind, networks=None, **options):
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        networks = make_networks(model="exact") if networks is None else networks
        given = {"obs_space": make_space(), "action_space": actions, "samples": 4} | options
        with pytest.raises(kind) as caught:
            export_policy(networks, given.pop("path", folder / "policy.onnx"), **given)
        assert not list(folder.iterdir())
        assert "\n" not in str(caught.value)
        assert "--" not in str(caught.value)
        return str(caught.value)

    return call


def corrupted(path):
    """The model of a file with one of its weights another number."""
    model = onnx.load(path)
    weight = max(model.graph.initializer, key=lambda entry: np.prod(entry.dims))
    values = onnx.numpy_helper.to_array(weight).copy()
    values.flat[0] += 0.1
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    return model


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_file_that_acts_otherwise(shipped, monkeypatch, tmp_path, old):
    path = tmp_path / "policy.onnx"
    if old is not None:
        path.write_bytes(old)
    monkeypatch.setattr(exporter, "_convert", lambda *_: corrupted(shipped.path))
    with pytest.raises(RunError, match="more than 1e-05, so no file was written") as caught:
        export_policy(
            shipped.networks,
            path,
            obs_space=shipped.obs_space,
            action_space=shipped.action_space,
        )
    assert str(caught.value).startswith("The exported policy differs from the networks by ")
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == (
        {} if old is None else {"policy.onnx": old}
    )


@pytest.mark.parametrize("value", [np.nan, 1.0])
def test_only_what_is_close_counts_as_equal(actions, value):
    with pytest.raises(RunError, match="differs"):
        exporter._compare([np.full((1, 2), value)], [np.zeros((1, 2))], actions)


def test_the_difference_is_measured_in_action_ranges():
    wide = Box(-100.0, 100.0, (2,), np.float32)
    assert exporter._compare([np.full((1, 2), 1e-3)], [np.zeros((1, 2))], wide) == 5e-6


@pytest.mark.parametrize("library", ["onnx", "onnxruntime", "onnxscript"])
def test_a_missing_extra_names_the_install_line(refused, monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    text = refused(MissingExtraError)
    said = 'pip install "nearsym[onnx]" (in a checkout: pip install ".[onnx]").'
    assert text == f"Exporting a policy needs an extra: {said}"


def test_weights_that_are_not_finite(refused, make_networks):
    networks = make_networks(model="exact")
    with torch.no_grad():
        networks.actor.mean.filters.fill_(torch.nan)
    assert "actions that are not finite" in refused(RunError, networks)


class Deciding(nn.Module):
    """Looks at a number to decide what to compute."""

    def __init__(self, actor):
        super().__init__()
        self.actor = actor

    def forward(self, features):
        out = self.actor(features)
        return out if features.sum() > 0 else -out


def test_networks_that_no_graph_can_hold(refused, make_networks, capfd):
    networks = make_networks(model="exact")
    text = refused(RunError, replace(networks, actor=Deciding(networks.actor)))
    assert text.startswith("PyTorch cannot write these networks as ONNX, so no file was written: ")
    assert capfd.readouterr() == ("", "")


class Counting(Deciding):
    """Builds the number of observations into the graph."""

    def forward(self, features):
        return self.actor(features) + torch.zeros(len(features), 1)


def test_networks_that_fix_the_batch_size(refused, make_networks):
    networks = make_networks(model="exact")
    text = refused(RunError, replace(networks, actor=Counting(networks.actor)))
    assert "a fixed number of observations" in text


def test_an_opset_that_does_not_exist(refused):
    text = refused(UsageError, opset=99)
    assert text.startswith("`opset` must be one that PyTorch")
    assert "got 99. Leave it out" in text


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"samples": 0}, "`samples` must be at least 1, got 0."),
        ({"obs_space": Discrete(3)}, "`obs_space` must be a Box of vectors or uint8 images"),
        ({"obs_space": Box(0, 1, (51, 51, 3))}, "uint8 images, got Box(0.0, 1.0, (51, 51, 3)"),
        ({"obs_space": Box(0, 1, (5,))}, "cannot read observations of the shape (5,): `obs_space`"),
        ({"action_space": Box(-1, 1, (3,))}, "a Box of the 2 numbers that the networks act with"),
        ({"action_space": Discrete(2)}, "act with, got Discrete(2)"),
        ({"action_space": Box(-np.inf, 1, (2,))}, "`action_space` must have bounds, low < high"),
        ({"action_space": Box(1, 1, (2,))}, "`action_space` must have bounds, low < high"),
    ],
)
def test_spaces_that_do_not_fit(refused, options, text):
    assert text in refused(UsageError, **options)


def test_a_path_that_is_no_policy(refused, tmp_path):
    """A word too few must not replace the configuration of a run."""
    path = tmp_path / "config.json"
    path.write_text("precious")
    said = refused(UsageError, path=path)
    assert said == "A policy is written to a .onnx file, got 'config.json'."
    assert path.read_text() == "precious"


def test_a_path_that_is_a_folder(refused, tmp_path):
    assert refused(UsageError, path=tmp_path) == (
        f"`path` must name a file, got the folder {tmp_path}."
    )


def test_a_path_below_a_file(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(UsageError, match=r"cannot be made .*Choose another `path`\.$"):
        exporter._write(tmp_path / "taken" / "policy.onnx", b"new")


def test_missing_folders_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "policy.onnx"
    exporter._write(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("operation", ["open_file", "write_at", "sync", "rename"])
def test_a_disk_that_refuses(monkeypatch, tmp_path, operation):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic, operation, fail)
    with pytest.raises(RunError, match=r"the disk is full.* then try again"):
        exporter._write(tmp_path / "policy.onnx", b"new")
    assert not list(tmp_path.iterdir())


def test_observations_are_drawn_inside_the_bounds():
    low, high = np.array([-2.0, -np.inf, -3e38, 0.0]), np.array([-1.0, np.inf, 3e38, np.inf])
    obs = exporter._draw(Box(low, high, dtype=np.float64), 2000, seed=0)
    assert ((obs >= low) & (obs <= high)).all()
    assert obs.mean(axis=0) == pytest.approx([-1.5, 0.0, 0.0, (2 * np.pi) ** -0.5], abs=0.1)
    assert obs.std(axis=0)[1:3] == pytest.approx([1.0, 1.0], abs=0.1)


def test_drawn_bytes_reach_both_ends_and_repeat():
    space = Box(0, 255, (8, 8, 3), np.uint8)
    obs = exporter._draw(space, 64, seed=5)
    assert (obs.dtype, obs.min(), obs.max()) == (np.uint8, 0, 255)
    assert np.array_equal(obs, exporter._draw(space, 64, seed=5))
