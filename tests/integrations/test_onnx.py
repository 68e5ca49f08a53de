"""Exported policies act as the networks do, whatever the model, the agent and the observation."""

import json
import logging
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path

import gymnasium
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from gymnasium.spaces import Box

from nearsym.integrations.onnx import TOLERANCE, export_policy
from nearsym.networks.policy import MeanPolicy

ROOT = Path(__file__).parents[2]
MODELS = ("none", "exact", "approx", "rpp")
AGENTS = ("drqv2", "sac")
VECTORS = list(product(("vector", "T", "ST"), MODELS, AGENTS, ("group",)))
PIXELS = list(product((51, 85), MODELS, AGENTS, ("group", "steerable")))
SIT = list(product((51, 64, 85), ("sit",), AGENTS, ("group",)))
FAST = {  # every observation, model, agent and kind of layer at least once
    ("vector", "exact", "sac", "group"),
    ("vector", "approx", "drqv2", "group"),
    ("vector", "rpp", "sac", "group"),
    ("T", "none", "sac", "group"),
    ("T", "approx", "drqv2", "group"),
    ("ST", "exact", "drqv2", "group"),
    ("ST", "rpp", "sac", "group"),
    (51, "approx", "drqv2", "group"),
    (51, "rpp", "drqv2", "steerable"),
    (85, "exact", "drqv2", "group"),
    (85, "approx", "sac", "steerable"),
    (51, "sit", "drqv2", "group"),
}


def cases():
    for case in VECTORS + PIXELS + SIT:
        marks = () if case in FAST else pytest.mark.slow
        yield pytest.param(*case, marks=marks, id="-".join(map(str, case)))


def session_of(path):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def act(path, obs):
    return session_of(path).run(["action"], {"obs": obs})[0]


def observations(space, count, seed=1):
    rng = np.random.default_rng(seed)
    if space.dtype == np.uint8:
        return rng.integers(0, 256, (count, *space.shape), dtype=np.uint8)
    return rng.standard_normal((count, *space.shape)).astype(space.dtype)


@torch.no_grad()
def mean_actions(networks, obs):
    return MeanPolicy(networks)(torch.from_numpy(obs)).numpy()


@pytest.mark.longer
@pytest.mark.parametrize(("kind", "model", "agent", "layers"), cases())
def test_the_file_acts_as_the_networks(
    kind, model, agent, layers, make_networks, make_space, actions, tmp_path
):
    networks, space = make_networks(kind, model=model, agent=agent, layers=layers), make_space(kind)
    path = tmp_path / "policy.onnx"
    told = export_policy(networks, path, obs_space=space, action_space=actions, samples=8)
    for count in (1, 5):
        obs = observations(space, count)
        expected = mean_actions(networks, obs)
        assert np.abs(act(path, obs) - expected).max() < 2 * TOLERANCE
        assert count == 1 or expected.std(axis=0).min() > 1e-4  # one action for all is no policy
    assert told["largest_difference"] <= TOLERANCE
    shape, dtype = ["batch", *space.shape], space.dtype.name
    assert told["inputs"] == [{"name": "obs", "shape": shape, "dtype": dtype}]
    assert [entry.name for entry in tmp_path.iterdir()] == ["policy.onnx"]


@pytest.mark.longer
def test_the_equivariant_readout_of_sit(make_networks, make_space, actions, tmp_path):
    networks = make_networks(51, model="sit", sit_readout="equivariant")
    path, space = tmp_path / "policy.onnx", make_space(51)
    export_policy(networks, path, obs_space=space, action_space=actions, samples=8)
    obs = observations(space, 3)
    action, mirrored = act(path, obs), act(path, obs[:, :, ::-1])
    assert np.abs(action).max() > 1e-3
    assert np.abs(action * np.float32([-1, 1]) - mirrored).max() < 4 * TOLERANCE


@pytest.fixture
def export(make_networks, make_space, actions, tmp_path):
    """Exports a small policy; what is not given is made up. `export.path` is its file."""

    def call(networks=None, **options):
        given = {"obs_space": make_space(), "action_space": actions, "samples": 8} | options
        networks = make_networks(model="exact") if networks is None else networks
        return export_policy(networks, given.pop("path", call.path), **given)

    call.path = tmp_path / "policy.onnx"
    return call


def test_what_is_told_is_what_the_file_has(shipped):
    model = onnx.load(shipped.path)
    onnx.checker.check_model(model, full_check=True)
    assert shipped.told == {
        "file": str(shipped.path),
        "opset": 18,
        "inputs": [{"name": "obs", "shape": ["batch", 4], "dtype": "float32"}],
        "outputs": [{"name": "action", "shape": ["batch", 2], "dtype": "float32"}],
        "largest_difference": shipped.told["largest_difference"],
    }
    assert [entry.version for entry in model.opset_import] == [18]
    assert [entry.shape for entry in session_of(shipped.path).get_inputs()] == [["batch", 4]]
    assert [entry.shape for entry in session_of(shipped.path).get_outputs()] == [["batch", 2]]
    json.dumps(shipped.told)


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_vectors_of_another_type_are_cast_inside(export, make_networks, dtype):
    networks, obs_space = make_networks(model="approx"), Box(-100, 100, (4,), dtype)
    told = export(networks, obs_space=obs_space)
    assert told["inputs"][0]["dtype"] == np.dtype(dtype).name
    obs = obs_space.sample()[None]
    action = act(export.path, obs)
    assert action.dtype == np.float32
    assert np.allclose(action, mean_actions(networks, obs.astype(np.float32)), atol=2e-5)


@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_a_batch_has_any_size_and_rows_do_not_mix(shipped, count):
    obs = observations(shipped.obs_space, count)
    together = act(shipped.path, obs)
    alone = np.concatenate([act(shipped.path, row[None]) for row in obs[-3:]])
    assert together.shape == (count, 2)
    assert np.allclose(together[-3:], alone, rtol=1e-5)


class Listener(gymnasium.Env):
    """Keeps the action it was given."""

    def __init__(self, obs_space, action_space):
        self.observation_space, self.action_space = obs_space, action_space

    def step(self, action):
        self.heard = action
        return np.zeros(self.observation_space.shape, np.float32), 0.0, False, False, {}


def test_actions_are_scaled_as_by_rescale_action(shipped):
    listener = Listener(shipped.obs_space, shipped.action_space)
    scaled = gymnasium.wrappers.RescaleAction(listener, np.float32(-1), np.float32(1))
    obs, width = observations(shipped.obs_space, 10), np.float32([4.0, 249.5])
    for row, action in zip(obs, act(shipped.path, obs), strict=True):
        scaled.step(mean_actions(shipped.networks, row[None])[0])
        assert (np.abs(action - listener.heard) < TOLERANCE * width).all()


def test_actions_stay_inside_the_box(export, make_networks, make_space):
    networks = make_networks(model="none")
    with torch.no_grad():
        networks.actor.mean.filters *= 1e4  # tanh = ±1
    box = Box(np.array([0.1, -0.7], np.float32), np.array([0.3, 1.9], np.float32))
    export(networks, action_space=box)
    action = act(export.path, observations(make_space(), 50))
    assert (np.isclose(action, box.low) | np.isclose(action, box.high)).all()
    assert all(row in box for row in action)


def test_the_file_says_what_it_is_and_nothing_of_this_machine(shipped):
    model = onnx.load(shipped.path)
    labels = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(labels["action_low"]) == [-3.0, 0.5]
    assert json.loads(labels["action_high"]) == [1.0, 250.0]
    assert set(labels) <= {"action_low", "action_high", "nearsym_version"}
    content = shipped.path.read_bytes()
    assert not any(word in content for word in (b".py", b"site-packages", bytes(ROOT)))
    assert not any(entry.external_data for entry in model.graph.initializer)


@pytest.mark.slow
def test_a_file_is_little_more_than_its_weights(export, make_networks):
    networks = make_networks(model="rpp", hidden=256)
    export(networks)
    weights = sum(p.numel() for p in MeanPolicy(networks).parameters())
    assert export.path.stat().st_size < 4.2 * weights + 20_000


@pytest.mark.slow
def test_the_same_networks_give_the_same_file(export, make_networks):
    networks = make_networks(model="approx")
    export(networks)
    first = export.path.read_bytes()
    export(networks, seed=1)
    assert export.path.read_bytes() == first


def test_the_networks_stay_as_they_are(export, make_networks):
    networks = make_networks(model="approx")
    for part in networks.parts.values():
        part.double().train()
    before = {name: p.clone() for name, p in MeanPolicy(networks).named_parameters()}
    export(networks)
    for name, parameter in MeanPolicy(networks).named_parameters():
        assert parameter.dtype == torch.float64
        assert parameter.requires_grad
        assert torch.equal(parameter, before[name])
    assert all(part.training for part in networks.parts.values())


def process_state():
    return (
        torch.get_rng_state().tolist(),
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
        torch.is_autocast_enabled("cpu"),
        torch.are_deterministic_algorithms_enabled(),
        logging.getLogger("torch").level,
        logging.getLogger("onnxscript").level,
        list(warnings.filters),
        np.random.get_state()[1].tolist(),  # noqa: NPY002
        sys.stdout,
        sys.stderr,
    )


def test_it_is_silent_and_leaves_the_process_as_it_was(export, make_networks, capfd, caplog):
    networks = make_networks(51, model="approx", layers="steerable")
    obs_space = Box(0, 255, (51, 51, 3), np.uint8, seed=3)
    before, drawn = process_state(), obs_space.np_random.bit_generator.state
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        export(networks, obs_space=obs_space)
    assert process_state() == before
    assert obs_space.np_random.bit_generator.state == drawn
    assert capfd.readouterr() == ("", "")
    assert not caught
    assert not [record for record in caplog.records if record.levelno > logging.DEBUG]


def test_an_autocast_of_the_caller_does_not_reach_the_file(export, make_networks, make_space):
    networks, obs = make_networks(model="approx"), observations(make_space(), 5)
    with torch.autocast("cpu", torch.bfloat16):
        export(networks)
        assert torch.is_autocast_enabled("cpu")
    assert np.abs(act(export.path, obs) - mean_actions(networks, obs)).max() < 2 * TOLERANCE


def run_example(policy, *args, folder):
    """The example in a Python that has neither torch nor nearsym."""
    for name in ("torch", "nearsym"):
        (folder / f"{name}.py").write_text("raise ImportError('not here')")
    command = [sys.executable, ROOT / "examples" / "run_onnx.py", policy, *args]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=True
    )
    return np.array([[float(x) for x in line.split()] for line in done.stdout.splitlines()])


def test_the_example_acts_without_torch(shipped, tmp_path):
    zeros = np.zeros((1, 4), np.float32)
    assert np.allclose(run_example(shipped.path, folder=tmp_path), act(shipped.path, zeros))
    obs = observations(shipped.obs_space, 3)
    np.save(tmp_path / "obs.npy", obs)
    printed = run_example(shipped.path, "--obs", tmp_path / "obs.npy", folder=tmp_path)
    assert np.allclose(printed, act(shipped.path, obs))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["vector", 51])
def test_the_example_reads_the_type_of_the_input(export, make_networks, make_space, tmp_path, kind):
    space = make_space(kind, np.float64)
    export(make_networks(kind), obs_space=space)
    expected = act(export.path, np.zeros((1, *space.shape), space.dtype))
    assert np.allclose(run_example(export.path, folder=tmp_path), expected)
