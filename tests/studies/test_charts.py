"""Charts and figures: their numbers are those of the runs."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import nearsym.studies.report
from nearsym.errors import UsageError
from nearsym.measures.intervals import STUDENT, student_interval
from nearsym.studies import audited, figures
from nearsym.studies.charts.all import CHARTS, charts_of
from nearsym.studies.charts.chart import PALETTE, Chart, Line, colours, inner_range
from nearsym.studies.charts.curves import curves, over_time, profiles
from nearsym.studies.charts.maps import maps, worst
from nearsym.studies.charts.trading import portfolios, rollouts, time_weights
from nearsym.studies.charts.weights import weights
from nearsym.studies.figures import draw_charts, file_name, write_figures
from nearsym.studies.regret import regret_of
from nearsym.studies.scores import at_end
from nearsym.studies.statistics import Measured
from study_results import made, near, runs

RNG = np.random.default_rng(3)
CSS = (Path(nearsym.studies.report.__file__).parent / "page.css").read_text()


def random_runs(models=("none", "exact", "approx"), seeds=4, **more):
    return [
        made(model, seed, curve=[0.0, *RNG.uniform(100, 900, 5)], **more)
        for model in models
        for seed in range(seeds)
    ]


def tilted():
    tilts = (0, 30, 75)
    return [run for t in tilts for run in random_runs(task="craft", variant=f"tilt={t}")]


def test_curves_equal_a_direct_computation():
    some = random_runs()
    (chart,) = curves(some)
    assert [line.name for line in chart.lines] == ["none", "exact", "approx"]
    exact = [run.curve() for run in some if run.model == "exact"]
    line = chart.lines[1]
    assert line.each == tuple(tuple(curve) for curve in exact)
    for i, values in enumerate(zip(*exact, strict=True)):
        mean, (low, high) = student_interval(values)
        assert (line.y[i], line.low[i], line.high[i]) == pytest.approx((mean, low, high))
    assert line.x == tuple(some[0].frames)
    assert chart.caption.endswith("95 % intervals by Student's t; 4 seeds.")


def test_curves_of_runs_that_were_evaluated_elsewhere():
    """Means are taken at the evaluations that all runs of an arm share."""
    some = [made("none", 0, curve=[1, 2, 3]), made("none", 1, curve=[3, 5], frames=[100, 300])]
    (line,) = curves(some)[0].lines
    assert (line.x, line.y) == ((100, 300), (2, 4))


@pytest.mark.parametrize(("seeds", "bands"), [(1, False), (2, False), (3, True)])
def test_bands_from_three_seeds_on(seeds, bands):
    (chart,) = curves(random_runs(("none",), seeds=seeds))
    assert bool(chart.lines[0].low) == bands
    said = "Intervals are drawn from three seeds on" in chart.caption
    assert said == (seeds == 2)


def test_curves_over_time():
    timed = [made("none", s, curve=[1, 2], seconds=120.0) for s in range(2)]
    (chart,) = over_time([*timed, made("exact")])
    assert chart.lines[0].x == (1.0, 2.0)
    assert [line.name for line in chart.lines] == ["none"]


def test_times_of_different_hardware_share_no_axis():
    kinds = [{"processor": name, "precision": "fp32"} for name in ("slow", "fast")]
    slow = [made(m, s, seconds=600.0, versions=kinds[0]) for m in ("none", "exact") for s in (0, 1)]
    fast = [made("approx", s, seconds=60.0, versions=kinds[1]) for s in (0, 1)]
    (chart,) = over_time([*slow, *fast])
    assert [line.name for line in chart.lines] == ["none", "exact"]


def test_profiles_need_two_worlds():
    assert profiles(random_runs()) == []
    (chart,) = profiles(random_runs() + random_runs(variant="gravity"))
    line = chart.lines[0]
    assert line.y[0] == 1.0
    assert all(a >= b for a, b in zip(line.y, line.y[1:], strict=False))


def test_one_short_run_does_not_cut_a_curve():
    runs = [made(seed=s, curve=[1, 2, 3, 4, 5]) for s in range(5)]
    (chart,) = curves([*runs, made(seed=9, curve=[1])])
    assert chart.lines[0].y == (1, 2, 3, 4, 5)


def test_a_model_at_two_strengths_has_no_line(monkeypatch):
    monkeypatch.setattr(audited, "PAIRS", 100)
    two = [
        made("rpp", seed, 50, task="craft", variant=v) for v in (None, "tilt=75") for seed in (0, 1)
    ]
    returns, *_ = maps([*tilted(), *two])
    assert [line.name for line in returns.lines] == ["none", "exact", "approx"]
    apart = [*two, made("none", 0, 50, task="craft", variant="tilt=30")]
    assert [chart.name.split()[-1] for chart in maps(apart)] == ["audit"]


def test_maps_over_strength(monkeypatch):
    monkeypatch.setattr(audited, "PAIRS", 100)
    some = tilted()
    returns, gaps, epsilon = maps(some)
    assert returns.lines[0].x == (0.0, 30.0, 75.0)
    exact = [at_end(run) for run in some if run.model == "exact" and run.variant == "tilt=30"]
    assert returns.lines[1].y[1] == pytest.approx(np.mean(exact))
    assert gaps.lines[1].y[1] == pytest.approx(regret_of(some).gap(1, "exact").value)
    assert epsilon.lines[0].y[0] == 0 < epsilon.lines[0].y[2]


@pytest.mark.parametrize(
    ("mean_error", "names"),
    [(0.5, ["ε and mean error"]), (0.1, ["ε", "mean error"])],
    ids=["the same", "different"],
)
def test_lines_of_an_audit_that_coincide_are_one(mean_error, names):
    some = [replace(run, details={"epsilon": 0.5, "mean_error": mean_error}) for run in tilted()]
    *_, audit = maps(some)
    assert [line.name for line in audit.lines] == names


def test_regret_over_worlds():
    some = tilted()
    (chart,) = worst(some)
    assert chart.lines[0].y == (
        regret_of(some).mean("none").value,
        regret_of(some).worst("none").value,
    )
    assert worst(random_runs()) == []


def relaxed(variant, size, seeds=3):
    layers = ("encoder.convs.0", "encoder.convs.1", "actor.body.0")
    return [
        made(
            "approx",
            seed,
            curve=[1.0, 2.0],
            variant=variant,
            elements=["e", "mirror_x"],
            relaxed={
                name: [[[1.0, 1.0]], [[1.0 + size, 1.0 - size - 0.01 * seed]]] for name in layers
            },
        )
        for seed in range(seeds)
    ]


def test_weights_of_first_layers():
    encoder, actor = weights(
        relaxed(None, 0.0) + relaxed("gravity", 0.2) + random_runs(task="craft")
    )
    assert encoder.title.endswith("encoder.convs.0")
    assert actor.title.endswith("actor.body.0")
    assert encoder.ticks == ("original", "gravity")
    assert [line.name for line in encoder.lines] == ["e", "mirror_x"]
    assert encoder.lines[1].y == pytest.approx((0.99, 0.79))
    assert encoder.lines[1].each[2] == pytest.approx((0.98, 0.78))


def test_weights_of_a_treatment_are_not_shown_as_those_of_approx():
    usual = relaxed(None, 0.2, seeds=1)
    others = [replace(run, model="exact", relaxed={}) for run in usual]
    held = {"settings": {"network.relaxed_from": 5000}}
    treated = [replace(run, **held) for run in relaxed(None, 0.0, seeds=3)]
    assert weights(usual + others + treated) == weights(usual + others)


def test_weights_of_worlds_with_different_seeds():
    encoder, _ = weights(relaxed(None, 0.0, seeds=2) + relaxed("gravity", 0.2, seeds=3))
    assert np.isnan(encoder.lines[0].each[2][0])
    assert encoder.as_json()["lines"][0]["each"][2][0] is None


def traded(arm, seed):
    model, _, kind = arm.partition(" ")
    days = [f"2021-01-{day:02}" for day in range(1, 11)]
    value, costs = RNG.uniform(9e5, 1.5e6, (3, 10)), RNG.uniform(0, 99, (3, 10))
    details = {"dates": days, "value": value.tolist(), "costs": costs.tolist()}
    details |= {"exposure": RNG.uniform(0, 1, (3, 10)).tolist(), "tickers": ["A", "B"]}
    details |= {"weights": RNG.uniform(0, 0.5, (10, 2)).tolist(), "part": "validation"}
    details["null"] = {"random orders": {"band": [[9e5] * 10, [1e6] * 10, [1.2e6] * 10]}}
    details["baselines"] = {name: [1e6] * 10 for name in ("uniform", "x", "index")}
    layers = {"encoder.lift.relaxed_time": [[[0.9] * 8 + [1.3]]]} if model == "approx" else {}
    if kind == "ST" and layers:
        layers["encoder.lift.relaxed_scale"] = [[[1.0, 1.1, 0.9]]]
    settings = {"task.symmetry": kind} if kind == "ST" else {}
    about = {"task": "trading", "obs": None, "settings": settings, "curve": [1.0]}
    return made(model, seed, details=details, relaxed=layers, **about)


def test_portfolios_day_by_day():
    some = [traded(arm, seed) for arm in ("none", "approx T", "approx ST") for seed in range(2)]
    value, drawdown, exposure, costs, *held = portfolios(some)
    names = [line.name for line in value.lines]
    assert names[:5] == ["none", "approx ST", "approx T", "uniform", "index"]
    chance = value.lines[5]
    assert (chance.low[0], chance.y[0], chance.high[0]) == pytest.approx((0.9, 1.0, 1.2))
    assert value.x_label == "day of the validation part"
    assert [chart.title.split()[-1] for chart in held] == ["none", "ST", "T"]
    assert {line.name for line in held[0].lines} == {"A", "B"}
    assert max(drawdown.lines[0].y) <= 0
    shown = np.mean([np.mean(run.details["exposure"], 0) for run in some[:2]], 0)
    assert exposure.lines[0].y == pytest.approx(100 * shown)
    none = some[:2]
    expected = np.mean([np.mean(run.details["value"], 0) for run in none], 0) / 1e6
    assert value.lines[0].y == pytest.approx(expected)
    paid = np.mean([np.mean(run.details["costs"], 0).cumsum() for run in none], 0) / 1e3
    assert costs.lines[0].y == pytest.approx(paid)
    assert value.dates[-1] == "2021-01-10"
    days, scales = time_weights(some)
    assert days.lines[0].y[-1] == pytest.approx(1.3)
    assert [line.name for line in scales.lines] == ["approx ST"]
    assert portfolios(random_runs()) == time_weights(random_runs()) == []


def test_rollouts_are_those_of_the_run_that_validation_picks():
    some = [traded("none", seed) for seed in range(3)]
    some = [
        replace(run, returns=[[level], [0.0]]) for run, level in zip(some, (1, 3, 2), strict=True)
    ]
    value, costs = rollouts([replace(run, frames=[100, 200]) for run in some])
    line = value.lines[0]
    np.testing.assert_allclose(line.each, np.asarray(some[1].details["value"]) / 1e6)
    assert line.y == pytest.approx(np.mean(line.each, axis=0))
    assert [line.name for line in value.lines] == ["none", "uniform", "index"]
    assert costs.lines[0].each[0][-1] == pytest.approx(sum(some[1].details["costs"][0]) / 1e3)
    (named, _) = rollouts([replace(run, variant="dow") for run in some])
    assert (named.name, named.title) == (
        "trading dow rollouts value laptop, sac",
        f"{value.title}: dow",
    )


def test_charts_of_nothing():
    assert charts_of([]) == []
    counted = [made("none", curve=[], parameters={"total": 3})]
    assert charts_of(counted) == []


@pytest.mark.parametrize("name", CHARTS)
def test_charts_are_plain_data(name):
    some = random_runs() + relaxed(None, 0.1) + [traded("approx ST", seed) for seed in range(2)]
    for chart in CHARTS[name](some):
        json.dumps(chart.as_json(), allow_nan=False)


def test_unknown_charts_and_figures(tmp_path):
    with pytest.raises(UsageError, match="Unknown figure 'curvs'"):
        charts_of([], ["curvs"])
    with pytest.raises(UsageError, match="Unknown figure 'curvs'"):
        write_figures([], tmp_path, ["curvs"])


def test_colours():
    assert colours(["none", "exact", "approx", "rpp"]) == [0, 1, 2, 3]
    assert colours(["approx", "none"]) == [2, 0]
    many = colours([f"element {i}" for i in range(12)])
    assert sorted(many[:8]) == list(range(8))
    assert set(many) <= set(range(8))
    elements = colours(["e", "rot180", "mirror_x", "mirror_y"])
    assert not {*elements} & {*colours(["none", "exact", "approx", "rpp"])}


def test_the_page_has_the_figures_colours():
    """Light mode and print use the palette of the figures."""
    for place, colour in enumerate(PALETTE):
        assert len(re.findall(rf"--k{place}: {colour};", CSS)) == 2


def test_wide_intervals_are_cut():
    wide = Line("a", (0, 1), (1.0, 2.0), (-99.0, -99.0), (99.0, 99.0), ((1.0, 2.0),), 3)
    low, high = inner_range([wide], dots=False)
    assert (low, high) == pytest.approx((0.95, 2.05))
    assert inner_range([wide], dots=True)[1] > 99
    assert inner_range([], dots=False) is None


def test_a_figure_has_a_panel_for_each_chart_and_one_caption():
    some = random_runs() + random_runs(variant="gravity", seeds=3)
    figure = draw_charts(curves(some))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["cartpole-swingup original", "cartpole-swingup gravity"]
    assert "Laptop, state, sac." in figure.get_supxlabel()
    assert "3 to 4 seeds" in figure.get_supxlabel()
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["none", "exact", "approx"]
    thick = [line for line in figure.axes[0].get_lines() if line.get_linewidth() > 1]
    np.testing.assert_allclose(thick[0].get_ydata(), curves(some)[0].lines[0].y)


@pytest.mark.parametrize("variants", [[None], [None, "gravity", "wear", "repeat_action"]])
def test_a_legend_of_long_names_fits_into_the_figure(variants):
    runs = [
        made(
            "approx", 0, variant=v, settings={"network.filters": n, "network.relaxed_decay": 0.001}
        )
        for v in variants
        for n in range(9)
    ]
    figure = draw_charts(curves(runs))
    FigureCanvasAgg(figure).draw()
    assert len(figure.legends[0].get_texts()) == 9
    legend = figure.legends[0].get_window_extent()
    assert 0 <= legend.x0 < legend.x1 <= figure.bbox.x1
    assert figure.axes[0].get_window_extent().height > 150  # of 270


def test_a_scale_that_is_not_that_of_all_panels_stays_in_their_titles():
    mixed = random_runs() + random_runs(obs="pixels", agent="drqv2")
    titles = [axes.get_title() for axes in draw_charts(curves(mixed)).axes]
    assert titles == [
        "cartpole-swingup original (laptop, pixels, drqv2)",
        "cartpole-swingup original (laptop, state, sac)",
    ]


def test_figures_repeat(tmp_path):
    some = runs({"none": near(50), "exact": near(60)})
    for folder in ("a", "b"):
        write_figures(some, tmp_path / folder, ["curves"])
    (one,), (other,) = ([*(tmp_path / folder).iterdir()] for folder in ("a", "b"))
    assert one.name == "curves-laptop-state-sac.svg"
    assert one.read_bytes() == other.read_bytes()
    assert b"<svg" in one.read_bytes()


def test_relaxed_weights_over_training(tmp_path):
    (path,) = write_figures(relaxed("gravity", 0.2), tmp_path, ["relaxed"])
    text = path.read_text()
    assert "encoder.convs.1" in text
    assert "3 runs" in text


def test_names_of_files():
    assert file_name("sweep ../../etc craft <tilt>") == "sweep-..-..-etc-craft-tilt"
    assert "/" not in file_name("a/b")
    assert file_name("..") == ""


def test_lines_from_numbers():
    points = [Measured(1.0, (0.0, 2.0), 3, STUDENT), Measured(2.0, None, 1, "")]
    line = Line.of("a", [0, 1], points)
    assert (line.low, line.high, line.seeds) == ((), (), 1)
    assert Chart("n", "t", "x", "y", (line,), "About.").caption == "About."


def test_pictures_of_the_tasks_that_results_are_about(tmp_path, monkeypatch):
    drawn = {}
    for name in ("orbits", "variants"):
        monkeypatch.setattr(
            figures, f"draw_{name}", lambda tasks, name=name: drawn.update({name: tasks})
        )
    monkeypatch.setattr(figures, "save", lambda figure, path: None)
    about = [made("none", task=task) for task in ("reacher-hard", "acrobot-swingup", "craft")]
    assert len(write_figures(about, tmp_path, ["tasks"])) == 2
    shown = ["acrobot-swingup", "reacher-hard"]
    assert drawn == {"orbits": shown, "variants": shown}
    assert write_figures([made("none", task="craft")], tmp_path, ["tasks"]) == []


@pytest.mark.slow
def test_pictures_of_tasks_and_prices(tmp_path):
    written = write_figures([], tmp_path, ["tasks", "prices"])
    assert [path.name for path in written] == ["tasks.svg", "variants.svg", "prices.svg"]
    assert all(path.stat().st_size > 10_000 for path in written)
