"""Grids, cells and studies as values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.runs.configure import configure
from nearsym.studies.study import Cell, Evaluation, Grid, Study, known_axes, noises_of
from nearsym.tasks.registry import find_task

names = st.sampled_from(["variant", "model", "seed", "frames", "network.hidden", "size"])
axes = st.dictionaries(names, st.lists(st.integers(0, 99), min_size=1, max_size=4, unique=True))


@given(axes)
def test_a_grid_has_every_combination_once(values):
    grid = Grid({"task": "craft", **values})
    found = [tuple(sorted(cell.items())) for cell in grid]
    assert len(found) == len(set(found)) == len(grid)
    assert len(grid) == math.prod(len(each) for each in values.values())
    for cell in grid:
        assert list(cell) == ["task", *values]
        assert all(cell[name] in each for name, each in values.items())


@given(axes)
def test_seeds_come_one_after_another(values):
    seeds = [cell.get("seed") for cell in Grid({"task": "craft", **values})]
    wanted = values.get("seed", [None])
    assert seeds == [seed for seed in wanted for _ in range(len(seeds) // len(wanted))]


@given(st.lists(axes, min_size=1, max_size=3))
def test_cells_that_differ_have_different_names(grids):
    study = Study(name="x", grids=tuple(Grid({"task": "craft", **values}) for values in grids))
    cells = study.cells()
    by_name = {cell.name: cell.values for cell in cells}
    assert all(by_name[cell.name] == cell.values for cell in cells)


def test_a_single_value_is_an_axis_with_one():
    assert Grid({"task": "craft", "frames": 600}).axes == {"task": ("craft",), "frames": (600,)}
    assert Grid({"task": "craft"}) == Grid({"task": ["craft"]})
    assert Grid({"task": "craft"}) != Grid({"task": "trading"})


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"task": "craft", "modle": "none"}, "Unknown axis 'modle'. Did you mean 'model'?"),
        ({"task": "craft", "network.hiden": 3}, "Did you mean 'network.hidden'?"),
        ({"task": "craft", "network.model": "none"}, "Did you mean"),
        ({"model": "none"}, "A grid needs the axis `task`"),
        ({"task": "craft", "seed": []}, "The axis 'seed' has no values."),
        ({"task": "craft", "seed": [1, 2, 1]}, "The axis 'seed' has 1 twice."),
    ],
)
def test_grids_that_are_refused(values, text):
    with pytest.raises(UsageError) as caught:
        Grid(values)
    assert text in str(caught.value)


def test_every_option_and_setting_is_an_axis():
    known = {"task", "seed", "variant", "symmetry", "algorithm.target_tau", "algorithm.std_steps"}
    assert known | {"network.filters", "training.batch_size", "action_repeat"} <= {*known_axes()}
    assert not {"network.model", "training.frames", "factory", "_opened"} & {*known_axes()}


def test_a_cell_is_what_configure_makes_of_it():
    values = {"task": "craft", "variant": "tilt=30", "model": "approx", "preset": "smoke"}
    cell = Cell({**values, "seed": 4, "network.filters": 2, "training.batch_size": 8})
    by_hand = configure(
        "craft",
        variant="tilt=30",
        model="approx",
        preset="smoke",
        seed=4,
        threads=1,
        network={"filters": 2},
        training={"batch_size": 8},
    )
    assert cell.config() == by_hand
    assert cell.name == (
        "craft, tilt=30, approx, preset smoke, network.filters 2, training.batch_size 8, seed 4"
    )


def test_the_original_has_one_name():
    cells = [Cell({"task": "craft", "preset": "smoke", **v}) for v in ({"variant": "original"}, {})]
    assert cells[0].config() == cells[1].config()


def test_so_many_seeds_from_the_first_on():
    grids = Grid({"task": "craft", "seed": range(100, 105)}), Grid({"task": "craft"})
    study = Study(name="x", grids=grids).with_seeds(2)
    assert [grid.axes["seed"] for grid in study.grids] == [(100, 101), (0, 1)]
    with pytest.raises(UsageError, match="`seeds` must be at least 1, got 0"):
        study.with_seeds(0)


@given(st.lists(axes, min_size=1, max_size=3), st.data())
def test_a_part_of_a_study_has_its_cells_with_these_values(grids, data):
    study = Study(name="x", grids=tuple(Grid({"task": "craft", **values}) for values in grids))
    cells = [cell.values for cell in study.cells()]
    name = data.draw(st.sampled_from(sorted({name for cell in cells for name in cell})))
    known = sorted({str(cell[name]) for cell in cells if name in cell})
    wanted = data.draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
    found = [cell.values for cell in study.only({name: wanted}).cells()]
    assert sorted(map(str, found)) == sorted(
        str(cell) for cell in cells if name in cell and str(cell[name]) in wanted
    )


def test_parts_that_there_are_not():
    study = Study(name="x", grids=(Grid({"task": "craft", "model": ["none", "exact"]}),))
    with pytest.raises(UsageError, match=r"Unknown value of model 'exat'\. Did you mean 'exact'\?"):
        study.only({"model": ["exat"]})
    with pytest.raises(UsageError, match=r"Unknown axis of this study 'modle'\. Did you mean"):
        study.only({"modle": ["exact"]})


def test_values_that_no_run_has_together():
    grids = (Grid({"task": "craft", "variant": "wind=1"}), Grid({"task": "trading"}))
    study = Study(name="x", grids=grids)
    with pytest.raises(UsageError, match=r"No run of the study x has all of these values\."):
        study.only({"task": ["trading"], "variant": ["wind=1"]})
    assert study.only({"variant": ["wind=1"], "task": ["craft"]}).grids == grids[:1]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"name": "a/b"}, "letters, digits, - and _"),
        ({"name": ""}, "letters, digits, - and _"),
        ({"scale": "big"}, "Unknown scale 'big'"),
        ({"grids": ()}, "has no `grids`"),
    ],
)
def test_studies_that_are_refused(given, text):
    usual = {"name": "x", "grids": (Grid({"task": "craft"}),)}
    with pytest.raises(UsageError, match=text):
        Study(**usual | given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"episodes": -1}, "must be at least 0"),
        ({"noise": "task"}, "`noise` needs `episodes`"),
        ({"episodes": 1, "noise": "lots"}, "a number or 'task', got 'lots'"),
    ],
)
def test_evaluations_that_are_refused(given, text):
    with pytest.raises(UsageError, match=text):
        Evaluation(**given)


def test_noise_is_for_images():
    tested = Evaluation(episodes=3, noise="task")
    pixels = find_task("cartpole-swingup", obs="pixels", noise=0.2)
    assert noises_of(tested, pixels) == {"clean": 0.0, "noise=0.06": 0.06}
    assert noises_of(tested, find_task("cartpole-swingup", obs="state")) == {"clean": None}
    assert noises_of(tested, find_task("craft", obs="pixels")) == {"clean": 0.0}
    assert noises_of(tested, find_task("Pendulum-v1")) == {"clean": None}
    assert noises_of(Evaluation(), pixels) == {}
    with pytest.raises(UsageError, match="`noise` is noise on images"):
        noises_of(Evaluation(episodes=3, noise=0.1), find_task("craft", obs="state"))
