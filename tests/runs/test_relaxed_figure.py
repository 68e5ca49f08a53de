"""The picture of relaxed weights: every element of every group, under its own name."""

import json
import shutil

import numpy as np
import pytest
from matplotlib.colors import to_hex

import nearsym
from nearsym.errors import UsageError
from nearsym.groups.symmetry import TimeSymmetry
from nearsym.runs.relaxed_figure import LEAST_SPREAD, _labels, plot_relaxed, rows_of

D2 = ("e", "rot180", "mirror_x", "mirror_y")
NAMES = ("encoder.convs.0", "actor.body.layers.0", "actor.mean")


@pytest.fixture(scope="module")
def made(trained):
    """A run over each group."""
    return {
        "D1": trained("cartpole-swingup", "sac", 480, obs="state"),
        "D2": trained("reacher-hard", "sac", 480, obs="state"),
        "D4": trained("craft", "sac", 240),
    }


def written(run, folder, weights, seed=0):
    """A copy of a run whose log says these weights of each layer: evaluations of filters of
    elements."""
    shutil.copytree(run.path, folder)
    path = folder / "config.json"
    content = json.loads(path.read_text())
    content["config"]["seed"] = seed
    path.write_text(json.dumps(content))
    lines = [
        {"frames": 1000 * i, "eval/returns": [0.0], **{f"relaxed/{name}": w for name in NAMES}}
        for i, w in enumerate(weights, start=1)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return nearsym.Run(folder)


def legend_of(figure):
    """Name of an element to its colour."""
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    return dict(zip(texts, (to_hex(h.get_color()) for h in legend.legend_handles), strict=True))


def lines_of(axes, colour, thick):
    return [
        line.get_ydata().tolist()
        for line in axes.get_lines()
        if to_hex(line.get_color()) == colour and (line.get_linewidth() > 1) == thick
    ]


@pytest.mark.parametrize("group", ["D1", "D2", "D4"])
def test_every_layer_and_every_element_of_a_run(made, group):
    run = made[group]
    figure = run.plot_relaxed()
    weights = run.relaxed_weights()
    assert [axes.get_title() for axes in figure.axes] == list(weights)
    elements = run.task.make().unwrapped.symmetry.group.elements
    colours = legend_of(figure)
    assert tuple(colours) == elements
    assert len(set(colours.values())) == len(elements)
    for axes, w in zip(figure.axes, weights.values(), strict=True):
        for g, name in enumerate(elements):
            (line,) = lines_of(axes, colours[name], thick=True)
            assert line == pytest.approx(w[:, 0, g])


def test_element_one_of_d2_is_the_half_turn(made, tmp_path):
    """Each element has a weight that no other has: what is drawn under a name is its own."""
    run = written(made["D2"], tmp_path / "run", [[[1.0, 1.1, 1.2, 1.3]], [[2.0, 2.1, 2.2, 2.3]]])
    figure = plot_relaxed(run)
    colours = legend_of(figure)
    seen = {name: lines_of(figure.axes[0], colours[name], thick=True)[0] for name in D2}
    expected = {"e": 1.0, "rot180": 1.1, "mirror_x": 1.2, "mirror_y": 1.3}
    assert seen == {name: pytest.approx([w, w + 1]) for name, w in expected.items()}
    assert figure.axes[0].get_lines()[0].get_xdata().tolist() == [1.0, 2.0]  # thousand frames


def test_mirrors_are_dashed(made):
    (legend,) = made["D2"].plot_relaxed().legends
    assert [h.get_linestyle() for h in legend.legend_handles] == ["-", "-", "--", "--"]


def test_several_runs_and_filters_are_thin_lines_around_their_mean(made, tmp_path):
    first = [[[1.0] * 4, [2.0] * 4]] * 2  # two evaluations, two filters
    second = [[[3.0] * 4, [6.0] * 4]] * 3  # one evaluation more, which the other has not
    runs = [
        written(made["D2"], tmp_path / "a", first, seed=0),
        written(made["D2"], tmp_path / "b", second, seed=1),
    ]
    figure = plot_relaxed(runs)
    assert figure.get_suptitle() == "Relaxed weights w(g): reacher-hard, approx, 2 runs"
    colour = legend_of(figure)["mirror_y"]
    assert sorted(lines_of(figure.axes[0], colour, thick=False)) == [
        [1.0, 1.0],
        [2.0, 2.0],
        [3.0, 3.0],
        [6.0, 6.0],
    ]
    assert lines_of(figure.axes[0], colour, thick=True) == [[3.0, 3.0]]


def test_the_end_has_points_above_the_names_of_the_elements(made, tmp_path):
    last = [[[0.5, 0.6, 0.7, 0.8]]]
    other = [[[1.5, 1.6, 1.7, 1.8]]]
    runs = [
        written(made["D2"], tmp_path / "a", [[[9.0] * 4], *last], seed=0),
        written(made["D2"], tmp_path / "b", [[[9.0] * 4], *other], seed=1),
    ]
    axes = plot_relaxed(runs, when="end").axes[0]
    assert tuple(label.get_text() for label in axes.get_xticklabels()) == D2
    points = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert [line.get_ydata().tolist() for line in points] == [
        pytest.approx([a, b]) for a, b in zip(last[0][0], other[0][0], strict=True)
    ]
    means = [line.get_ydata()[0] for line in axes.get_lines() if line.get_marker() == "_"]
    assert means == pytest.approx([1.0, 1.1, 1.2, 1.3])


def test_parts_of_the_networks_have_rows_of_their_own(made, tmp_path):
    run = written(made["D2"], tmp_path / "run", [[[1.0] * 4]])
    specs = [axes.get_subplotspec() for axes in plot_relaxed(run).axes]
    places = [(spec.rowspan.start, spec.colspan.start) for spec in specs]
    assert places == [(0, 0), (1, 0), (1, 1)]


def test_noise_of_a_few_per_cent_looks_small(made, tmp_path):
    calm = written(made["D2"], tmp_path / "calm", [[[1.0, 1.0, 1.01, 0.99]]])
    low, high = plot_relaxed(calm).axes[0].get_ylim()
    assert low < 1 - LEAST_SPREAD
    assert high > 1 + LEAST_SPREAD
    wild = written(made["D2"], tmp_path / "wild", [[[1.0, 1.0, 2.0, -1.0]]])
    low, high = plot_relaxed(wild).axes[-1].get_ylim()
    assert low < -1
    assert high > 2


@pytest.mark.parametrize("shape", [(3, 2, 4), (3, 2, 5, 4)])  # steerable layers have a basis too
def test_a_row_for_each_filter(shape):
    weights = np.random.default_rng(0).normal(size=shape)
    rows = rows_of(weights)
    assert rows.shape == (2, 3, 4)
    for t, k, g in np.ndindex(3, 2, 4):
        assert rows[k, t, g] == pytest.approx(np.mean(weights[t, k, ..., g]))


@pytest.mark.longer
def test_days_and_scales_have_names_too(trained):
    assert _labels(TimeSymmetry("ST", 3, 1, 1), 3) == ("day -2", "day -1", "day 0")
    figure = trained("trading", "sac", 300, symmetry="ST").plot_relaxed()
    names = tuple(legend_of(figure))
    assert (names[0], names[8]) == ("day -8", "day 0")
    assert names[9:] == ("scale 0.8", "scale 0.98", "scale 1.2")


def test_it_is_written_to_a_file(made, tmp_path):
    made["D4"].plot_relaxed(tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 5000


def test_mistakes(made, trained, tmp_path):
    run = made["D4"]
    free = trained("craft", "sac", 240, "none")
    with pytest.raises(UsageError, match="has no relaxed weights: its model is none, not approx"):
        free.plot_relaxed()
    with pytest.raises(UsageError, match="must be of one model"):
        plot_relaxed([run, free])
    with pytest.raises(UsageError, match=r"Unknown value of `when` 'ned'\. Did you mean 'end'"):
        run.plot_relaxed(when="ned")
    with pytest.raises(UsageError, match=r"written to a \.png, \.pdf or \.svg file, got 'x\.txt'"):
        run.plot_relaxed(tmp_path / "x.txt")
    with pytest.raises(UsageError, match=r"written to a \.png, \.pdf or \.svg file, got 'x\.txt'"):
        run.plot(tmp_path / "x.txt")
    (tmp_path / "new").mkdir()
    shutil.copy(run.path / "config.json", tmp_path / "new")
    with pytest.raises(UsageError, match="new has nothing to plot before its first evaluation"):
        plot_relaxed(tmp_path / "new")
