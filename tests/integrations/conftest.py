"""Small networks of every kind, away from their start, and the spaces they act between."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box

from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import plane_of
from nearsym.groups.symmetry import Symmetry, TimeSymmetry
from nearsym.integrations.onnx import export_policy
from nearsym.networks.actor_critic import ActorCritic
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

GROUP = dihedral(2)
DAYS, FEATURES = 9, 4
WIDTHS = {"channels": 4, "hidden": 16, "waist": 8, "window_features": 8}


def _symmetry(kind):
    if kind in ("T", "ST"):
        return TimeSymmetry(kind, DAYS, FEATURES, actions=2), (DAYS * FEATURES,)
    if kind == "vector":
        return Symmetry(2 * plane_of(GROUP), plane_of(GROUP)), (4,)
    return Symmetry(ImageAction(GROUP, height=-3, width=-2), plane_of(GROUP)), (kind, kind, 3)


def _make_networks(kind="vector", *, agent="drqv2", **options):
    """Networks with two actions for a vector, a window of days (T, ST) or images of some size.

    Their weights are moved at random: relaxed weights that are all equal would hide mistakes.
    """
    symmetry, shape = _symmetry(kind)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        networks = build_actor_critic(symmetry, shape, agent, NetworkConfig(**(WIDTHS | options)))
        for part in networks.parts.values():
            for parameter in part.parameters():
                parameter += 0.1 * torch.randn_like(parameter)
    return networks


def _make_space(kind="vector", dtype=np.float32):
    _, shape = _symmetry(kind)
    if len(shape) == 3:
        return Box(0, 255, shape, np.uint8)
    return Box(-np.inf, np.inf, shape, dtype)


@pytest.fixture(scope="session")
def make_networks():
    return _make_networks


@pytest.fixture(scope="session")
def make_space():
    return _make_space


@pytest.fixture(scope="session")
def actions():
    return Box(-1.0, 1.0, (2,), np.float32)


class Shipped(NamedTuple):
    """An exported policy, with what it was exported from and what was told of it."""

    networks: ActorCritic
    obs_space: Box
    action_space: Box
    path: Path
    told: dict


@pytest.fixture(scope="session")
def shipped(tmp_path_factory):
    """A file for all tests that only look at one."""
    networks, path = _make_networks(model="approx"), tmp_path_factory.mktemp("onnx") / "policy.onnx"
    spaces = _make_space(), Box(np.float32([-3.0, 0.5]), np.float32([1.0, 250.0]))
    told = export_policy(networks, path, obs_space=spaces[0], action_space=spaces[1], opset=18)
    return Shipped(networks, *spaces, path, told)
