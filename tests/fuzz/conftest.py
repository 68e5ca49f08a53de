"""The world of the cases; see `world.py`."""

import sys
from functools import partial
from types import SimpleNamespace

import pytest

from fuzz.world import OneAtATime, Signals, World, make_runs, make_study, no_network
from nearsym.cli.bench import BENCHMARKS
from nearsym.studies.claims.judge import COMPUTED
from nearsym.studies.hold import Hold


@pytest.fixture(scope="session")
def _made(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzz")
    make_runs(place)
    (place / "study").mkdir()
    make_study(place / "study")
    return place


@pytest.fixture
def world(_made, tmp_path, monkeypatch, capsys):
    """`World` with everything in place."""
    monkeypatch.setattr("nearsym.cli.process.stop_on_signals", Signals)
    row = {"name": "nothing", "value": 1.0, "unit": "of it", "target": None, "ok": True}
    fake = SimpleNamespace(rows=lambda **_: [row])  # benchmarks take long
    monkeypatch.setitem(sys.modules, "nearsym.benchmarks.fake", fake)
    monkeypatch.setattr("nearsym.cli.bench.BENCHMARKS", dict.fromkeys(BENCHMARKS, ("fake",)))
    at_once = tuple(claim._replace(compute=lambda: (True, {})) for claim in COMPUTED)
    monkeypatch.setattr("nearsym.studies.claims.judge.COMPUTED", at_once)  # they ask no results
    monkeypatch.setattr("nearsym.tasks.trading.download.download", no_network)
    monkeypatch.setattr("nearsym.studies.cluster.ClusterTasks", no_network)
    monkeypatch.setattr("nearsym.studies.execute.LocalWorkers", OneAtATime)
    quick = partial(Hold, silence=0.2, sign_every=0.05)  # a strange sign is watched for a while
    monkeypatch.setattr("nearsym.studies.job.Hold", quick)
    monkeypatch.setattr("nearsym.studies.schedule.BUSY_WAIT", 0.05)
    monkeypatch.setattr("nearsym.training.allocator.keep_freed_memory", lambda: True)
    monkeypatch.setattr("torch.set_num_threads", lambda count: None)
    return World(_made, tmp_path, monkeypatch, capsys)
