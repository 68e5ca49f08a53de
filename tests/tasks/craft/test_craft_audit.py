"""What the audit finds in the craft is what is known of it."""

import pytest

from nearsym.audits.environment import audit_environment
from nearsym.tasks.craft.environment import CraftEnv


def audited(**options):
    env = CraftEnv(**options)
    report = audit_environment(env, samples=200, longest=120)
    exact = {element.name for element in report.elements if element.strength.exact}
    kept = {env.symmetry.group.elements[g] for g in env.dynamics.keeps(env.symmetry.group)}
    return report, exact, kept - {"e"}


@pytest.mark.parametrize("obs", ["state", "pixels"])
def test_the_original_is_exact(obs):
    report, exact, kept = audited(obs=obs, size=12)
    assert report.verdict == "exact"
    assert exact == kept
    assert len(exact) == 7
    assert report.starts == []
    assert not report.stochastic


@pytest.mark.parametrize("variant", ["tilt=75", "tilt=20", "wind", "worn"])
def test_exact_elements_are_those_kept(variant):
    report, exact, kept = audited(variant=variant)
    assert report.verdict != "exact"
    assert exact == kept
    for element in report.elements:
        if element.name in kept:
            assert element.eps_p.largest == element.eps_r.largest == 0
        else:
            assert element.eps_p.mean > 0.01


def test_coordinates_have_names():
    report, *_ = audited(actions="disc")
    assert report.verdict == "exact"
    assert report.coordinates.names == ("x", "y", "velocity x", "velocity y")
