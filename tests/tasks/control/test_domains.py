"""The tables of signs and half turns obey the group's laws."""

import numpy as np
import pytest

from nearsym.tasks.control.domains import DOMAINS


@pytest.fixture(params=list(DOMAINS))
def domain(request):
    return DOMAINS[request.param]


def wrapped(domain, configuration):
    """A configuration with its angles as points of the circle, which have no windings."""
    return np.where(domain.angles, np.exp(1j * configuration), configuration)


def test_elements_multiply_on_configurations(domain):
    group, random = domain.group, np.random.default_rng(0)
    c = random.normal(size=len(domain.angles))
    for g in range(group.order):
        for h in range(group.order):
            one_by_one = domain.move_configuration(g, domain.move_configuration(h, c))
            at_once = domain.move_configuration(int(group.mul[g, h]), c)
            np.testing.assert_allclose(wrapped(domain, one_by_one), wrapped(domain, at_once))


def test_elements_differ_on_configurations(domain):
    c = np.random.default_rng(0).normal(size=len(domain.angles))
    moved = [wrapped(domain, domain.move_configuration(g, c)) for g in range(domain.group.order)]
    distances = [np.abs(a - b).max() for i, a in enumerate(moved) for b in moved[:i]]
    assert min(distances) > 0.1


def test_tables_have_one_row_for_each_element(domain):
    order = domain.group.order
    for rows, width in [
        (domain.signs, len(domain.angles)),
        (domain.half_turns, len(domain.angles)),
        (domain.observation_signs, len(domain.entries)),
        (domain.action_signs, domain.action.size),
    ]:
        assert np.shape(rows) == (order, width)
        assert len(domain.joints) <= len(domain.angles)


def test_actions_stay_in_their_box(domain):
    assert domain.action.is_signed_permutation


def test_half_turns_stand_on_angles_only(domain):
    assert not np.array(domain.half_turns)[:, ~np.array(domain.angles)].any()
