"""The four verdicts, from numbers alone."""

import pytest

from nearsym.audits.mistakes import Mistake
from nearsym.audits.verdict import Strength, decide, elements_up_to, usual_epsilon
from nearsym.groups.catalog import dihedral

EXACT = Strength(exact=True, broken_share=0.0, step_error=0.0, reward_error=0.0)
MILD = Strength(exact=False, broken_share=1.0, step_error=0.1, reward_error=0.1)
PLACES = Strength(exact=False, broken_share=0.5, step_error=1.5, reward_error=0.1)
STRONG = Strength(exact=False, broken_share=1.0, step_error=1.5, reward_error=0.1)
UNFAIR = Strength(exact=False, broken_share=1.0, step_error=0.0, reward_error=0.9)
RARE = Strength(exact=False, broken_share=0.01, step_error=9.0, reward_error=0.0)


@pytest.mark.parametrize(
    ("strengths", "expected"),
    [
        ([EXACT, EXACT, EXACT], "exact"),
        ([MILD, MILD, MILD], "approximate"),
        ([EXACT, MILD, MILD], "approximate"),
        ([PLACES, PLACES, PLACES], "approximate"),
        ([RARE, EXACT, RARE], "approximate"),
        ([STRONG, EXACT, STRONG], "partial"),
        ([UNFAIR, EXACT, UNFAIR], "partial"),
        ([PLACES, MILD, PLACES], "partial"),
        ([STRONG, STRONG, STRONG], "partial"),
        ([EXACT, EXACT, STRONG], "approximate"),  # no subgroup: rounding of the threshold
    ],
)
def test_verdicts(strengths, expected):
    assert decide(dihedral(2), strengths, [])[0] == expected


def test_epsilon_moves_the_line():
    assert decide(dihedral(2), [MILD, EXACT, MILD], [], epsilon=0.05)[0] == "partial"
    assert decide(dihedral(2), [STRONG, EXACT, STRONG], [], epsilon=2.0)[0] == "approximate"


def test_the_line_itself_counts_as_held():
    """As in the paper's Definition 2, where an error of ε is inside."""
    held = elements_up_to(1.5, dihedral(2), [STRONG, EXACT, RARE])
    assert held.is_whole_group
    held = elements_up_to(1.4999, dihedral(2), [STRONG, EXACT, RARE])
    assert (held.elements, held.is_group) == (("e", "mirror_x", "mirror_y"), False)
    assert decide(dihedral(2), [STRONG, EXACT, STRONG], [], epsilon=1.5)[0] == "approximate"
    assert decide(dihedral(2), [STRONG, EXACT, STRONG], [], epsilon=1.4999)[0] == "partial"


def test_a_mistake_comes_first_and_is_named():
    mistake = Mistake("action", 0, "action[0]", ("mirror_x",))
    verdict, reason = decide(dihedral(1), [STRONG], [mistake])
    assert verdict == "wrong"
    assert "action[0] under mirror_x" in reason


def test_the_reason_names_the_subgroup():
    reason = decide(dihedral(2), [STRONG, EXACT, STRONG], [])[1]
    assert reason == "Only the subgroup {e, mirror_x} holds; strongly broken: rot180, mirror_y."


def test_the_right_action_is_told():
    mistake = Mistake("action", 0, "action[0]", ("mirror_x",), ("[+a0, −a1]",))
    reason = decide(dihedral(1), [STRONG], [mistake])[1]
    assert reason.endswith(" The action a should become [+a0, −a1] under mirror_x.")


@pytest.mark.parametrize(
    ("strengths", "expected"),
    [
        ([MILD, EXACT, MILD], 0.25),
        ([MILD, MILD, MILD], 0.5),
        ([PLACES, EXACT, PLACES], 0.5),  # it fails in places only
        ([EXACT, EXACT, STRONG], 0.5),  # no subgroup
        ([EXACT, EXACT, EXACT], 0.5),
    ],
)
def test_beside_an_exact_subgroup_less_counts_as_strong(strengths, expected):
    assert usual_epsilon(dihedral(2), strengths) == expected
