"""Every cell is checked before the first run starts."""

from importlib import import_module

import gymnasium
import pytest

from nearsym.errors import UsageError
from nearsym.runs.identity import digest
from nearsym.studies.execute import run_study
from nearsym.studies.plan import built, plan
from nearsym.studies.study import Evaluation, Grid, Study


class Counted(gymnasium.Wrapper):
    """Somebody's own environment, which counts how often it is built."""

    made = 0
    closed = 0

    def __init__(self):
        Counted.made += 1
        super().__init__(gymnasium.make("Pendulum-v1"))

    def close(self):
        Counted.closed += 1
        super().close()


def planned(*grids, **more):
    return plan(Study(name="x", scale="smoke", grids=tuple(map(Grid, grids)), **more))


def smoke(**axes):
    return {"task": "craft", "preset": "smoke"} | axes


@pytest.mark.parametrize(
    ("grid", "cell", "text"),
    [
        (smoke(model=["none", "sit"]), "craft, sit", "`model='sit'` reads pixels"),
        (smoke(task="trading", model="augment"), "trading, augment", "moves samples by the"),
        (smoke(model=["exact", "aprox"]), "craft, aprox", "Did you mean 'approx'?"),
        (smoke(variant=["tilt=3", "tlt"]), "craft, tlt", "Did you mean 'tilt'?"),
        (smoke(variant="tilt=999"), "craft, tilt=999", "The nearest is tilt=180"),
        (smoke(agent="sac", obs="pixels"), "craft", "SAC reads vectors"),
        (smoke(**{"network.filters": [1, 2]}, model="exact"), "network.filters 1", "approx"),
        (smoke(**{"algorithm.std_steps": 3}), "craft", "Unknown setting of algorithm"),
        (smoke(**{"network.hidden": "wide"}), "craft", "`network.hidden` must be int"),
        (smoke(frames=[900, 300]), "frames 300", "ends before the first update"),
        (smoke(size=[51, 52], obs="pixels"), "size 52", "52"),
        (smoke(task="Pendulum-v1", model="exact"), "Pendulum-v1, exact", "declares none"),
        (smoke(device="cuda:7"), "craft", "sees no cuda:7 device"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_with_its_cell(grid, cell, text):
    with pytest.raises(UsageError) as caught:
        planned(grid)
    assert str(caught.value).startswith("The run [")
    assert cell in str(caught.value).partition("]")[0]
    assert text in str(caught.value)


def test_what_cannot_be_built_to_be_counted_is_refused_with_its_cell(tmp_path):
    study = Study(name="x", grids=(Grid(smoke(size=[51, 52], obs="pixels")),), trains=False)
    with pytest.raises(UsageError, match=r"The run \[craft, size 52\] cannot work: "):
        run_study(study, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_noise_on_vectors_is_refused():
    with pytest.raises(UsageError, match=r"The run \[craft\] cannot work: `noise` is noise on im"):
        planned(smoke(), evaluation=Evaluation(episodes=1, noise=0.1))


def test_another_machine_may_have_the_device():
    study = Study(name="x", grids=(Grid(smoke(device="cuda")),))
    (run,) = plan(study, device_here=False)
    assert (run.config.device, run.config.precision, run.name) == ("cuda", "fp32", "craft")


def test_runs_that_come_to_the_same_are_one():
    runs = planned(
        smoke(model=["none", "exact"], seed=range(2)),
        smoke(model=["exact", "approx"], seed=0, variant="original"),
    )
    assert len(runs) == 5
    assert all(run.key == digest(run.config) for run in runs)
    assert len({run.key for run in runs}) == 5


def test_two_environments_of_one_name_are_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("rob_a", "rob_b"):
        source = "import gymnasium\n\n\ndef make():\n    return gymnasium.make('Pendulum-v1')\n"
        (tmp_path / f"{name}.py").write_text(source)
    factories = [import_module(name).make for name in ("rob_a", "rob_b")]
    with pytest.raises(UsageError, match="of rob_a:make and rob_b:make"):
        planned(smoke(task=factories))


def test_of_one_run_at_several_lengths_the_shortest_comes_first():
    runs = planned(smoke(frames=[1200, 900], model=["none", "exact"]), smoke(frames=700))
    lengths = {}
    for run in runs:
        lengths.setdefault(run.key, []).append(run.config.training.frames)
    assert sorted(lengths.values()) == [[700], [900, 1200], [900, 1200]]


def test_an_environment_of_ones_own_is_built_as_often_as_networks_are():
    Counted.made = Counted.closed = 0
    runs = planned(smoke(task=Counted, model="none", seed=range(20)))
    assert len(runs) == 20
    assert Counted.made == Counted.closed <= 2


def test_an_environment_that_another_process_cannot_find():
    with pytest.raises(UsageError, match="Give a class or a function that stands at the top"):
        planned(smoke(task=lambda: gymnasium.make("Pendulum-v1"), model="none"))


def test_networks_are_counted_without_training():
    (run,) = planned(smoke(model="exact"))
    found = built(run.config)
    assert found.parameters["total"] == sum(
        found.parameters[part] for part in ("encoder", "actor", "critic")
    )
    assert found.elements[0] == "e"
    assert len(found.elements) == 8
