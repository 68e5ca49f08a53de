"""The studies that are built in: small where they must be, shared where they can be."""

import pytest

from nearsym.errors import UsageError
from nearsym.networks.kit import MODELS
from nearsym.runs.identity import digest
from nearsym.studies.builtin import STUDIES, builtin_study
from nearsym.studies.plan import plan
from nearsym.studies.study import SCALES
from nearsym.studies.worlds import FIRST_SEED, WORLDS

NAMES = "curves final noise noise-trained weights rpp-tau tasks trading planted parameters"


def keys(name, scale):
    return {digest(cell.config()) for cell in builtin_study(name, scale).cells()}


def test_the_names():
    assert list(STUDIES) == [*NAMES.split(), "wall-clock", "regret", "stay-put"]
    with pytest.raises(UsageError, match=r"Unknown study 'curvs'\. Did you mean 'curves'\?"):
        builtin_study("curvs")
    with pytest.raises(UsageError, match="Unknown scale 'huge'"):
        builtin_study("curves", "huge")


def test_all_of_smoke_is_at_most_24_runs_of_two_seeds():
    trained = [builtin_study(n, "smoke") for n in STUDIES if builtin_study(n, "smoke").trains]
    configs = [cell.config() for study in trained for cell in study.cells()]
    assert len({digest(config) for config in configs}) <= 24
    assert {config.seed for config in configs} == {FIRST_SEED, FIRST_SEED + 1}
    assert {config.preset for config in configs} == {"smoke"}
    assert {len(grid.axes["seed"]) for study in trained for grid in study.grids} == {2}


@pytest.mark.parametrize("name", STUDIES)
def test_smoke_can_be_planned(name):
    study = builtin_study(name, "smoke")
    assert len(plan(study)) == len(study.cells())


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", STUDIES)
def test_every_grid_can_be_configured(name, scale):
    study = builtin_study(name, scale)
    assert (study.name, study.scale) == (name, scale)
    for grid in study.grids:
        assert min(grid.axes["seed"]) == FIRST_SEED
        first = next(cell for cell in study.cells() if cell.values == next(iter(grid)))
        assert first.config().preset == ("laptop" if "craft" in grid.axes["task"] else scale) or (
            scale == "smoke"
        )


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["laptop", "paper"])
@pytest.mark.parametrize("name", STUDIES)
def test_every_cell_can_be_planned(name, scale):
    study = builtin_study(name, scale)
    assert len(plan(study)) == len(study.cells())


def test_the_evidence_that_is_wanted_on_a_laptop():
    assert len(builtin_study("regret").cells()) == 7 * 6 * 10 + 8 * 6 * 5 + 2 * 3 * 5 + 6 * 3 * 5
    assert len(builtin_study("curves").cells()) == 4 * 3 * 3 + 4 * 3 * 1
    assert len(builtin_study("trading").cells()) == 5 * 5


def test_the_paper_s_worlds_models_and_seeds():
    cells = builtin_study("curves", "paper").cells()
    assert len(cells) == sum(map(len, WORLDS.values())) * 7 * 5
    assert {cell.values["model"] for cell in cells} == set(MODELS)
    lengths = {c.values["task"]: c.config().training.frames for c in cells}
    assert sorted(lengths.values()) == [1_100_000, 1_100_000, 3_100_000, 3_100_000]


@pytest.mark.parametrize("scale", ["laptop", "paper"])
@pytest.mark.parametrize("name", ["curves", "final", "noise", "regret", "parameters"])
def test_comparisons_have_the_baselines_that_reviewers_ask_for(name, scale):
    models = {cell.values["model"] for cell in builtin_study(name, scale).cells()}
    assert {"none", "exact", "approx", "augment", "mirror"} <= models


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
def test_studies_share_their_runs(scale):
    curves = keys("curves", scale)
    assert keys("noise", scale) <= keys("final", scale) <= curves
    assert keys("wall-clock", scale) <= curves
    assert keys("weights", scale) <= curves | keys("regret", scale)


def test_studies_that_play_do_so_alike():
    assert builtin_study("final").evaluation == builtin_study("noise").evaluation


def test_what_needs_no_training():
    assert [name for name in STUDIES if not builtin_study(name).trains] == ["tasks", "parameters"]
