"""The model that an audit recommends follows from what it found."""

import pytest

import nearsym
from nearsym.audits.recommendation import recommended


@pytest.mark.parametrize(
    ("verdict", "epsilon", "model"),
    [
        ("exact", 0.0, "exact"),
        ("approximate", 4e-7, "exact"),
        ("approximate", 0.02, "approx"),
        ("partial", 1.5, "approx"),
        ("wrong", 1.5, None),
    ],
)
def test_the_model_follows_the_verdict(verdict, epsilon, model):
    found = recommended(verdict, epsilon)
    assert found.model == model
    assert found.reason.endswith(".")


def test_an_audit_ends_with_it():
    found = nearsym.audit(nearsym.make("craft", variant="tilt=75"), samples=100)
    assert found.as_json()["recommendation"]["model"] == "approx"
    last = str(found).splitlines()[-1]
    assert last.startswith("Recommended model: approx. The symmetry is broken by 1.")


def test_a_wrong_declaration_gets_no_model():
    found = nearsym.audit(nearsym.make("craft", variant="tilt=90"), samples=100)
    assert found.verdict == "wrong"
    assert str(found).splitlines()[-1] == "Correct the declaration before you choose a model."
