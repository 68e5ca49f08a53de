"""The model that an audit recommends follows from what it found."""

from pathlib import Path

import pytest

import nearsym
from nearsym.audits.recommendation import recommended
from nearsym.audits.table import EVIDENCE
from nearsym.audits.verdict import Strength


def broken(share: float, steps: float, rewards: float = 0.0) -> Strength:
    return Strength(exact=False, broken_share=share, step_error=steps, reward_error=rewards)


@pytest.mark.parametrize(
    ("verdict", "strength", "model", "words"),
    [
        ("exact", Strength(True, 0.0, 0.0, 0.0), "exact", "Nothing is broken"),
        ("approximate", broken(1.0, 4e-7), "exact", "too little"),
        ("approximate", broken(1.0, 0.02), "approx", "off by 0.02 of a mean step"),
        (
            "approximate",
            broken(0.04, 10.0),
            "approx",
            "off by 10 of a mean step",
        ),  # rare, not small
        ("approximate", broken(1.0, 0.0, 0.6), "approx", "0.6 of the reward's spread"),
        ("partial", broken(1.0, 1.5), "approx", "1.5 of a mean step"),
        ("wrong", broken(1.0, 1.5), None, "Correct the declaration"),
    ],
)
def test_the_model_follows_what_was_found(verdict, strength, model, words):
    found = recommended(verdict, [strength])
    assert found.model == model
    assert words in found.reason


def test_an_audit_ends_with_it():
    found = nearsym.audit(nearsym.make("craft", variant="tilt=75"), samples=100)
    assert found.as_json()["recommendation"]["model"] == "approx"
    last = str(found).splitlines()[-1]
    assert last.startswith("Recommended model: approx. Where the symmetry fails it is off by 1.")
    assert last.endswith(f"This rule rests on {EVIDENCE}.")
    assert (Path(__file__).parents[2] / EVIDENCE).is_file()


def test_a_wrong_declaration_gets_no_model():
    found = nearsym.audit(nearsym.make("craft", variant="tilt=90"), samples=100)
    assert found.verdict == "wrong"
    assert str(found).splitlines()[-1] == "Correct the declaration before you choose a model."
