"""The control tasks: originals exact, variants approximate, swapped signs wrong and named."""

from dataclasses import replace

import numpy as np
import pytest

import nearsym
from nearsym.audits.environment import audit_environment
from nearsym.audits.regions import Box
from nearsym.groups.representation import from_matrices
from nearsym.groups.symmetry import Symmetry
from nearsym.layers.linear import characters
from nearsym.tasks.control.domains import DOMAINS

QUICK = {"samples": 120, "longest": 40}
SHARE = 0.03
"""Largest share of the samples that boxes may put on the wrong side."""


def make(task, variant=None):
    return nearsym.make(task, variant=variant, obs="state", action_repeat=1)


@pytest.mark.parametrize("task", DOMAINS)
def test_originals_are_exact(task):
    found = audit_environment(make(task), **QUICK)
    assert found.verdict == "exact"
    assert found.starts == []
    assert not found.stochastic


@pytest.mark.parametrize(
    ("task", "variant"),
    [
        ("acrobot-swingup", "repeat_action"),
        ("acrobot-swingup", "gravity"),
        ("cartpole-swingup", "gravity"),
        ("cartpole-swingup", "wear"),
        ("ball_in_cup-catch", "gravity"),
        ("reacher-hard", "repeat_action"),
        ("reacher-hard", "reflect_action"),
        ("reacher-hard", "wear"),
    ],
)
def test_variants_are_approximate(task, variant):
    assert audit_environment(make(task, variant), **QUICK).verdict == "approximate"


@pytest.mark.parametrize("variant", [None, "gravity", "wear"])
def test_from_the_smallest_epsilon_on_everything_holds(variant):
    found = audit_environment(make("cartpole-swingup", variant), **QUICK)
    smallest = found.smallest_epsilon
    assert (smallest > 0) == (variant is not None)
    assert replace(found, epsilon=smallest).stabilizer == list(found.group.elements)
    if variant is not None:
        assert replace(found, epsilon=smallest - 1e-9).stabilizer == ["e"]


@pytest.mark.parametrize("task", ["cartpole-swingup", "ball_in_cup-catch"])
def test_a_swapped_sign_in_the_action_is_wrong(task):
    env = make(task)
    for entry in range(env.action_space.shape[0]):
        env.symmetry = Symmetry(env.domain.observation, _turned(env.domain.action, entry))
        found = audit_environment(env, **QUICK)
        assert found.verdict == "wrong"
        assert [(m.part, m.index) for m in found.mistakes] == [("action", entry)]


def test_a_swapped_sign_in_any_observation_entry_is_wrong():
    env = make("cartpole-swingup")
    for entry, (name, _) in enumerate(env.domain.entries):
        env.symmetry = Symmetry(_turned(env.domain.observation, entry), env.domain.action)
        found = audit_environment(env, **QUICK)
        assert found.verdict == "wrong"
        assert [m.name for m in found.mistakes] == [f"observation[{entry}] ({name})"]


def _turned(representation, entry):
    matrices = representation.matrices.copy()
    matrices[1, entry] *= -1
    return from_matrices(representation.group, matrices, "mistaken")


@pytest.mark.slow
@pytest.mark.parametrize("task", DOMAINS)
def test_every_swapped_sign_is_wrong_and_named(task):
    """Any entry of observation or action, under every character of the group, also beside a real
    break of the symmetry."""
    for variant in (None, "gravity"):
        env = make(task, variant)
        observation, action = env.domain.observation, env.domain.action
        for character in characters(env.domain.group)[1:]:
            for entry in range(observation.size):
                env.symmetry = Symmetry(_twisted(observation, entry, character), action)
                assert _named(env) == ("wrong", {("observation", entry)}), (variant, character)
            for entry in range(action.size):
                env.symmetry = Symmetry(observation, _twisted(action, entry, character))
                assert _named(env) == ("wrong", {("action", entry)}), (variant, character)


def _named(env):
    found = audit_environment(env, **QUICK)
    return found.verdict, {(mistake.part, mistake.index) for mistake in found.mistakes}


def _twisted(representation, entry, character):
    matrices = representation.matrices.copy()
    matrices[:, entry] *= character[:, None]
    return from_matrices(representation.group, matrices, "mistaken")


VARIANTS = ["repeat_action", "reflect_action", "gravity", "wear"]


@pytest.mark.slow
@pytest.mark.parametrize("task", DOMAINS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_at_the_default_size(task, variant):
    """Verdict and, for the regional ones, boxes within a few per cent of R xor g⁻¹R."""
    env = make(task, variant)
    found = audit_environment(env)
    assert found.verdict == "approximate"
    region = env.variant.region
    for g, element in enumerate(found.elements, start=1):
        if region is None:
            continue
        joints = len(env.domain.joints)
        qpos = found.x[:, :joints]
        image = env.domain.move_configuration(g, qpos)
        truth = region.contains(qpos) != region.contains(image)
        assert np.mean(_covered(element.regions, found) != truth) < SHARE * max(truth.mean(), 0.2)


def _covered(boxes: list[Box], found) -> np.ndarray:
    inside = np.zeros(found.samples, dtype=bool)
    for box in boxes:
        columns = [(found.x[:, found.names.index(name)], *b) for name, b in box.bounds.items()]
        inside |= np.all([(x >= low) & (x <= high) for x, low, high in columns], axis=0)
    return inside
