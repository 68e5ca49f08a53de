"""Every built-in study at the scale smoke, from nothing to results; all share 24 runs."""

import fcntl

import pytest

from nearsym.networks.kit import MODELS
from nearsym.runs.run import Run
from nearsym.studies.builtin import STUDIES, builtin_study
from nearsym.studies.execute import run_study
from nearsym.studies.findings import findings
from nearsym.studies.planted import share_found
from nearsym.studies.report.page import read_sources, write_report
from nearsym.studies.tables.all import tables_of

pytestmark = pytest.mark.longer

OF_THREE_SEEDS = {"regret", "regret-compared", "sweeps", "aggregates"}
"""Tables that two seeds, of seconds, do not give."""


@pytest.fixture(scope="module")
def found(tmp_path_factory, worker_id):
    """What all studies found, in one folder; a second test process waits and finds them done."""
    own = tmp_path_factory.getbasetemp()
    place = own if worker_id == "master" else own.parent
    with (place / "smoke.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return {name: _made(name, place / "smoke") for name in STUDIES}


def _made(name, place):
    return run_study(builtin_study(name, "smoke"), out=place, workers=2)


def test_all_are_complete(found):
    for name, made in found.items():
        assert not made.failures, name
        assert len(made.results) == made.total == len(made.study.cells())


def test_they_share_their_runs(found):
    pool = found["curves"].folder.parent / "pool"
    runs = [path.parent for path in pool.glob("*/summary.json")]
    assert len(runs) <= 24
    trained = {run.key for made in found.values() for run in made.results if run.frames}
    assert {path.name.rpartition("-")[2] for path in runs} == trained


def test_curves_have_more_than_one_point(found):
    assert {len(run.frames) for run in found["curves"].results} == {2}


def test_noise_is_played_where_there_are_images(found):
    for run in found["final"].results:
        names = ["clean", "noise=0.06"] if run.obs == "pixels" else ["clean"]
        assert list(run.evaluations) == names
        assert {len(returns) for returns in run.evaluations.values()} == {2}


def test_trained_with_noise_and_without_are_both_tested(found):
    for run in found["noise-trained"].results:
        assert run.settings["task.noise"] == 0.06
        path = next(found["noise"].folder.parent.glob(f"pool/*{run.key}"))
        opened = Run(path)
        assert run.evaluations["clean"] == opened.evaluate(2, noise=0.0)["returns"]
        assert run.evaluations["noise=0.06"] == opened.evaluate(2, noise="task")["returns"]
        break


def test_the_weights_of_both_groups(found):
    orders = {len(run.elements) for run in found["weights"].results}
    assert orders == {2, 8}
    for run in found["weights"].results:
        assert run.relaxed
        first = next(iter(run.relaxed.values()))
        assert len(first) == len(run.frames)
        assert len(first[0][0]) == len(run.elements)


def test_the_taus(found):
    taus = {run.settings.get("algorithm.target_tau") for run in found["rpp-tau"].results}
    assert taus == {None, 0.005}


def test_portfolios(found):
    for run in found["trading"].results:
        assert len(run.details["value"]) == len(run.evaluations["clean"]) == 2
        assert len(run.details["value"][0]) == len(run.details["dates"])
        assert run.details["metrics"][0]["name"] == "approx T, sampled"
        assert run.details["random"]["runs"] == 100
        assert list(run.details["null"]) == ["random fixed portfolios", "random orders"]


def test_planted_signals(found):
    for run in found["planted"].results:
        assert run.variant == "momentum=0.3"
        assert run.details["metrics"][-1]["name"] == "oracle"
        assert share_found(run) < 1


def test_parameters_without_training(found):
    results = found["parameters"].results
    assert {run.model for run in results} == set(MODELS)
    assert all(run.parameters["total"] > 0 and not run.frames for run in results)
    assert {run.task for run in found["tasks"].results} == {run.task for run in results}


@pytest.mark.parametrize("name", STUDIES)
def test_tables_claims_and_report(found, name, tmp_path):
    made = found[name]
    said = findings(made.study, made.results).as_json()
    more = {"settings"} if name == "regret" else set()  # all its smoke runs have the same
    for table in set(made.study.tables) - OF_THREE_SEEDS - more:
        assert tables_of(made.results, [table]), table
    assert set(said["tables"]) == {t.name for t in tables_of(made.results, made.study.tables)}
    assert {claim["id"] for claim in said["claims"]} == set(made.study.claims)
    page = write_report(read_sources([made.folder]), tmp_path / "page.html")
    assert page["runs"] == made.total
    assert page["tables"] > 1
