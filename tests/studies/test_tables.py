"""Tables: their numbers are those of the runs, and nothing in a cell breaks out of it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.measures.intervals import (
    NO_INTERVAL,
    STUDENT,
    bootstrap_interval,
    student_interval,
)
from nearsym.studies import audited, sweeps
from nearsym.studies.claims.claim import Judgement
from nearsym.studies.claims.judge import CLAIMS, judge
from nearsym.studies.luck import excess
from nearsym.studies.paper import Printed
from nearsym.studies.regret import regret_of
from nearsym.studies.statistics import Measured
from nearsym.studies.tables.all import tables_of
from nearsym.studies.tables.costs import parameters, spent, wall_clock, what_was_run
from nearsym.studies.tables.regrets import aggregates, regrets, regrets_compared, strengths
from nearsym.studies.tables.returns import (
    areas,
    compared,
    end,
    final,
    noise_trained,
    settings,
    shares,
    tau_sweep,
)
from nearsym.studies.tables.spreads import spreads
from nearsym.studies.tables.table import Table, said_of
from nearsym.studies.tables.trading import months, trading
from nearsym.studies.tables.verdicts import counted, verdicts
from study_results import made

RNG = np.random.default_rng(0)
MODELS = ("none", "exact", "approx")


def random_runs(models=MODELS, seeds=4, **more):
    """Runs with curves that have nothing to do with each other."""
    return [
        made(model, seed, curve=[0.0, *RNG.uniform(100, 900, 6)], **more)
        for model in models
        for seed in range(seeds)
    ]


def direct(runs, model, number):
    """Mean and interval, from the runs themselves."""
    mean, interval = student_interval([number(run) for run in runs if run.model == model])
    return {"value": mean, "ci95": list(interval), "seeds": 4, "interval": STUDENT}


def same(found, expected):
    assert found.pop("ci95") == pytest.approx(expected.pop("ci95"))
    assert found.pop("value") == pytest.approx(expected.pop("value"))
    assert found == expected


def last_three(run):
    return np.mean([np.mean(episodes) for episodes in run.returns[-3:]])


def under_the_curve(run):
    curve, frames = [np.mean(e) for e in run.returns], run.frames
    pieces = [(curve[i] + curve[i + 1]) / 2 * (frames[i + 1] - frames[i]) for i in range(6)]
    return sum(pieces) / (frames[-1] - frames[0])


@pytest.mark.parametrize(("build", "number"), [(end, last_three), (areas, under_the_curve)])
def test_returns_equal_a_direct_computation(build, number):
    runs = random_runs() + random_runs(variant="gravity")
    table = build(runs)[0].as_json()
    assert [row["variant"] for row in table] == ["original", "gravity"]
    for row, some in zip(table, (runs[:12], runs[12:]), strict=True):
        for model in MODELS:
            same(row[model], direct(some, model, number))


def test_differences_equal_a_direct_computation():
    runs = random_runs()
    (row,) = compared(runs)[0].as_json()
    mine = [last_three(run) for run in runs if run.model == "approx"]
    others = [last_three(run) for run in runs if run.model == "exact"]
    mean, interval = student_interval(np.subtract(mine, others))
    assert row["approx − exact"]["value"] == pytest.approx(mean)
    assert row["approx − exact"]["ci95"] == pytest.approx(interval)
    assert [name for name in row if "−" in name] == [
        "approx − exact",
        "approx − none",
        "exact − none",
    ]


def test_runs_of_different_lengths_have_rows_of_their_own():
    runs = [*random_runs(("none",)), made("sit", 0, curve=[1, 2])]
    assert [(row["frames"], "sit" in row) for row in end(runs)[0].as_json()] == [
        (200, True),
        (700, False),
    ]


def evaluated(model, seed, curve_end, variant="repeat_action", **more):
    found = {
        "clean": RNG.uniform(0, 900, 50).tolist(),
        "noise=0.06": RNG.uniform(0, 9, 50).tolist(),
    }
    more = {"obs": "pixels", "agent": "drqv2", "evaluations": found} | more
    return made(model, seed, curve=[0.1, curve_end, 0.5], variant=variant, **more)


def test_table_1_has_both_protocols_and_the_papers_numbers():
    ends = {"none": (5, 9, 9), "exact": (8, 7, 6), "approx": (1, 2, 3)}
    runs = [evaluated(m, s, ends[m][s]) for m in MODELS for s in range(3)]
    (table,) = final(runs)
    rows = {(row["noise"], row["protocol"]): row for row in table.as_json()}
    for noise, name in (("clean", "clean"), ("0.06", "noise=0.06")):
        for model, best in (("none", 1), ("exact", 0), ("approx", 2)):  # of equals the first seed
            some = [run for run in runs if run.model == model]
            mean, interval = student_interval([np.mean(run.evaluations[name]) for run in some])
            found = rows[noise, "mean of runs"][model]
            assert found["value"] == pytest.approx(mean)
            assert found["ci95"] == pytest.approx(interval)
            episodes = some[best].evaluations[name]
            found = rows[noise, "best run"][model]
            assert found["value"] == pytest.approx(np.mean(episodes))
            assert found["ci95"] == pytest.approx(bootstrap_interval(episodes))
            assert found["interval"] == "bootstrap over 50 episodes of the best run"
            assert found["seeds"] == 3
    assert rows["clean", "best run"]["paper: approx"] == {"value": 859, "half": 0.4}
    assert rows["0.06", "best run"]["paper: none"] == {"value": 192, "half": 5}
    assert "paper: none" not in rows["clean", "mean of runs"]


def test_noise_trained_runs_are_apart():
    cup = {"task": "ball_in_cup-catch", "variant": "gravity"}
    noise = {"settings": {"task.noise": 0.06}}
    noisy = [evaluated(m, s, 9, **cup, **noise) for m in MODELS for s in range(2)]
    plain = [evaluated(m, s, 9, **cup) for m in (*MODELS, "rpp") for s in range(2)]
    (table,) = noise_trained([*noisy, *plain])
    row = [row for row in table.as_json() if row["noise"] == "0.06"][1]
    assert "rpp" not in row
    assert row["paper: approx"] == {"value": 973, "half": 2.7}
    assert noise_trained(plain) == []
    expected = np.mean([np.mean(r.evaluations["clean"]) for r in plain if r.model == "exact"])
    assert final([*noisy, *plain])[0].as_json()[0]["exact"]["value"] == pytest.approx(expected)


def test_runs_that_differ_in_settings():
    runs = random_runs(("rpp",)) + random_runs(("rpp",), settings={"algorithm.target_tau": 0.02})
    (table,) = settings(runs)
    assert [row["run"] for row in table.as_json()] == ["rpp", "rpp, target_tau 0.02"]
    same(table.as_json()[1]["end"], direct(runs[4:], "rpp", last_three))
    assert settings(random_runs()) == []


def test_settings_are_compared_on_the_seeds_that_they_share():
    """The usual runs have two more seeds, which failed; and one run of another length."""
    usual = [made("rpp", seed, curve=[0.0, 9.0 + seed]) for seed in range(4)]
    failed = [made("rpp", seed, curve=[0.0, 0.0]) for seed in (4, 5)]
    changed = {"settings": {"algorithm.target_tau": 0.02}}
    fast = [made("rpp", seed, curve=[0.0, 8.0 + seed], **changed) for seed in range(3)]
    long = made("rpp", 3, curve=[0.0, 0.0, 0.0], **changed)
    plain, other = settings([*usual, *failed, *fast, long])[0].as_json()
    assert "end − usual" not in plain
    assert other["end − usual"]["value"] == pytest.approx(-0.5)  # the mean of two evaluations
    assert other["end − usual"]["seeds"] == 3
    assert other["area − usual"]["ci95"] == pytest.approx([-0.5, -0.5])


def test_shares_kept_equal_a_direct_computation():
    runs = [evaluated(m, s, 9) for m in MODELS for s in range(4)]
    (table,) = shares(runs + random_runs())

    def share(run):
        return np.mean(run.evaluations["noise=0.06"]) / np.mean(run.evaluations["clean"])

    same(table.as_json()[0]["approx"], direct(runs, "approx", share))
    assert shares(random_runs()) == []


def test_each_noise_has_a_row():
    """The paper's numbers stand beside its own noise alone."""
    runs = [
        made(m, s, task="ball_in_cup-catch", obs="pixels", agent="drqv2",
             evaluations={"clean": [10.0], name: [share * 10]})
        for m, name, share in (("none", "noise=0.06", 0.5), ("approx", "noise=0.02", 0.9))
        for s in range(3)
    ]  # fmt: skip
    (shares,) = tables_of(runs, ["noise"])
    assert [(row["noise"], set(row) & {"none", "approx"}) for row in shares.rows] == [
        ("0.02", {"approx"}),
        ("0.06", {"none"}),
    ]
    (final,) = tables_of(runs, ["final"])
    best = [row for row in final.rows if row["protocol"] == "best run"]
    assert [(row["noise"], "paper: none" in row) for row in best] == [
        ("clean", True),
        ("0.02", False),
        ("0.06", True),
    ]


def test_runs_without_a_time_take_none_from_those_that_have_one():
    runs = [made("none", s, seconds=6.0 if s else 0.0) for s in range(4)]
    table, _ = tables_of(runs, ["wall-clock"])
    assert table.rows[0]["none"].seeds == 3


def test_times_are_those_of_one_kind_of_hardware_and_levels_those_of_all():
    slow, fast = ({"processor": name} for name in ("slow", "fast"))
    runs = [made("none", s, 100.0, seconds=6.0, versions=slow) for s in range(4)]
    runs += [made("none", 4, 100.0, seconds=1.0, versions=fast)]
    runs += [made("exact", s, 900.0, seconds=1.0, versions=fast) for s in range(3)]
    speeds, waits = tables_of(runs, ["wall-clock"])
    (row,), (wait,) = speeds.rows, waits.rows
    assert (row["none"].seeds, row["none"].value) == (1, pytest.approx(1000 / 600))
    assert wait["return"] == pytest.approx(810)
    assert wait["none"].endswith("(0 of 1)")


def test_runs_with_noise_in_training_are_no_rows_of_table_1():
    tested = {"clean": [900.0], "noise=0.06": [800.0]}
    more = {"task": "ball_in_cup-catch", "variant": "gravity", "obs": "pixels", "agent": "drqv2"}
    runs = random_runs(evaluations=tested, settings={"task.noise": 0.06}, **more)
    assert final(runs) == []
    assert final(random_runs(evaluations=tested, **more))


def test_settings_are_compared_in_runs_of_one_length():
    changed = {"settings": {"algorithm.target_tau": 0.02}}
    usual = [made("rpp", s, curve=[1, 2, 3, 4]) for s in range(3)]
    slow = [made("rpp", s, curve=[5, 6, 7, 8][: 4 - s], **changed) for s in range(3)]
    (table,) = settings([*usual, *slow])
    assert [row["frames"] for row in table.as_json()] == [400, 400]
    assert table.as_json()[1]["end"]["seeds"] == 1


def test_tau_is_swept_in_runs_of_one_length():
    about = {"task": "ball_in_cup-catch"}
    runs = [
        made("rpp", s, curve=[1, 2, 3, 4 + s][: 4 - (tau == 0.02)], settings=changed, **about)
        for tau in (0.01, 0.02, 0.005)
        for changed in [{"algorithm.target_tau": tau}]
        for s in range(3)
    ]
    (table,) = tau_sweep(runs)
    assert [(row["frames"], row["τ"]) for row in table.as_json()] == [(400, 0.005), (400, 0.01)]


def test_runs_that_were_not_timed_have_no_row():
    assert wall_clock(random_runs()) == []


def test_tau_by_tau():
    cup = {"task": "ball_in_cup-catch"}
    slow = random_runs(("rpp", "approx"), settings={"algorithm.target_tau": 0.005}, **cup)
    usual = random_runs(("rpp",), **cup)
    (table,) = tau_sweep([*slow, *usual])
    rows = table.as_json()
    assert [row["τ"] for row in rows] == [0.005, 0.01]  # laptop's own is among them
    same(rows[0]["rpp"], direct(slow, "rpp", last_three))
    same(rows[1]["rpp"], direct(usual, "rpp", last_three))
    assert tau_sweep(usual) == []


def test_spreads_by_layer():
    weights = {"encoder.convs.0": [[[1.2, 0.8]]], "actor.mean": [[[1.0, 1.0]]]}
    runs = [made("approx", seed, curve=[1.0], relaxed=weights) for seed in range(3)]
    rows = spreads([*runs, *random_runs(("none",))])[0].as_json()
    assert [row["layer"] for row in rows] == ["encoder.convs.0", "actor.mean"]
    assert [row["spread"]["value"] for row in rows] == pytest.approx([0.2, 0.0])
    assert spreads(random_runs()) == []


def portfolio(arm, seed, value):
    model, _, kind = arm.partition(" ")
    names = ("final_value", "annual_return", "sharpe_mean_over_std", "max_drawdown", "turnover")
    names += ("sharpe_return_over_volatility", "costs")

    def row(name, level):
        return {"name": name, **{n: {"mean": level, "ci95": None} for n in names}}

    metrics = [row(f"{arm}, sampled", value), row("x", value / 2), row("uniform", 1.4e6)]
    metrics.append(row("index (^GSPC)", 1.0e6))
    settings = {"task.symmetry": kind} if kind else {}
    details = {"metrics": metrics, "random": row("random orders", 1.2e6)}
    return made(model, seed, task="trading", obs=None, settings=settings, details=details)


def test_trading_equals_a_direct_computation():
    values = {
        ("approx ST", 0): 1.5e6,
        ("approx ST", 1): 1.3e6,
        ("none", 0): 1.1e6,
        ("none", 1): 1e6,
    }
    (table,) = trading([portfolio(*which, value) for which, value in values.items()])
    rows = {row["portfolio"]: row for row in table.as_json()}
    assert rows["approx ST, sampled"]["final value (mm)"]["value"] == pytest.approx(1.4)
    _, interval = student_interval([1.5, 1.3])
    assert rows["approx ST, sampled"]["final value (mm)"]["ci95"] == pytest.approx(interval)
    assert rows["none, mean policy"]["final value (mm)"]["value"] == pytest.approx(0.525)
    assert rows["random orders"]["final value (mm)"] == pytest.approx(1.2)
    assert rows["approx ST, sampled"]["paper: value"] == {"value": 1.489, "half": 0.16}
    assert rows["uniform"]["paper: Sharpe"] == {"value": 0.71, "half": None}
    assert rows["index (^GSPC)"]["paper: return"] == {"value": 7.7, "half": None}
    assert "paper: value" not in rows["none, mean policy"]


def test_every_market_has_a_table_of_its_own():
    """Planted markets have another table; a file is a market by its name."""
    runs = [portfolio("none", 0, 1.1e6)]
    names = ("dow", "momentum", "momentum=0.3", "stretched=1")
    runs += [replace(runs[0], variant=name) for name in names]
    tables = {table.name: table.as_json() for table in trading(runs)}
    assert sorted(tables) == ["trading", "trading dow", "trading momentum"]
    assert tables["trading"] == tables["trading dow"]
    assert sweeps.sweeps(runs) == []


def test_results_beside_chance():
    """Ten draws up to 1.35 mm: of the seeds at 1.5 and 1.3 mm one lies beyond."""
    draws = {"final_value": np.linspace(0.9e6, 1.35e6, 10).tolist()}
    runs = [portfolio("approx T", seed, value) for seed, value in enumerate((1.5e6, 1.3e6))]
    runs += [portfolio("none", seed, 1.0e6) for seed in range(2)]
    for run in runs:
        row = run.details["random"] | {"name": "random orders"}
        row["final_value"] = {"mean": 1.1e6, "ci95": None, "q90": [0.9e6, 1.3e6]}
        run.details["null"] = {"random orders": draws | {"row": row}}
        steps = np.random.default_rng(run.seed).normal(0.001, 0.01, (2, 60))
        run.details["value"] = (1e6 * np.cumprod(1 + steps, axis=1)).tolist()
        run.details["baselines"] = {"uniform": [1e6] * 60}
    (table,) = trading(runs)
    rows = {row["portfolio"]: row for row in table.as_json()}
    skilled, plain = rows["approx T, sampled"], rows["none, sampled"]
    assert skilled["p of the value"] == pytest.approx(1 / 11)
    assert skilled["seeds beyond chance"] == "1 of 2"
    assert plain["p of the value"] == pytest.approx(9 / 11)
    assert 0 < skilled["deflated Sharpe"] < 1
    assert rows["random orders"]["final value (mm), 95 %"] == pytest.approx(1.3)
    assert "Deflated Sharpe:" in table.caption
    lost = [replace(run, details=run.details | {"value": []}) for run in runs]
    (without,) = trading(lost)
    assert "Deflated" not in without.caption
    for run, full in zip(lost, runs, strict=True):
        run.details["excess"] = excess(full).tolist()
    (kept,) = trading(lost)
    assert kept.as_json() == table.as_json()


def test_months_are_those_of_a_tear_sheet():
    details = {"dates": ["2020-12-31", "2021-01-04", "2021-01-29", "2021-02-01"]}
    details["value"] = [[100, 120, 110, 121], [100, 100, 110, 99]]
    (table,) = months([made("none", 0, task="trading", obs=None, details=details)])
    first, second = table.as_json()
    assert (first["year"], first["Dec"]) == ("2020", 0)
    assert second == {"portfolio": "none", "year": "2021", "Jan": 10, "Feb": 0}


def test_regret_has_a_row_for_each_world_and_for_all():
    runs = random_runs() + random_runs(variant="gravity")
    table = regrets(runs)[0]
    rows = table.as_json()
    assert [row["task"] for row in rows[2:]] == ["mean over", "worst over"]
    for model in MODELS:
        gaps = [row[model]["value"] for row in rows[:2]]
        assert rows[2][model]["value"] == pytest.approx(np.mean(gaps))


def two_tasks():
    """Two worlds of one, one of the other."""
    return random_runs() + random_runs(variant="gravity") + random_runs(task="craft")


def test_regret_is_told_for_each_task_with_several_worlds():
    rows = regrets(two_tasks())[0].as_json()
    named = [row["variant"] for row in rows if row["task"] == "mean over"]
    assert len(named) == 2
    assert named[0].startswith("2 worlds of ")
    assert named[1] == "3 worlds of 2 tasks"


def test_regret_without_a_task_is_that_of_the_others_alone():
    runs = two_tasks()
    found = regret_of(runs)
    one, other = found.tasks
    (table,) = regrets_compared(runs)
    rows = {row["regret"]: row["none − approx"]["value"] for row in table.as_json()}
    for task, rest in ((one, other), (other, one)):
        same = [i for i, world in enumerate(found.worlds) if world.task == rest]
        gaps = [found.gap(i, "none").value - found.gap(i, "approx").value for i in same]
        assert rows[f"mean without {task}"] == pytest.approx(np.mean(gaps))
    both = [rows[f"mean without {task}"] for task in found.tasks]
    assert rows["mean over 3 worlds of 2 tasks"] == pytest.approx(np.mean(both))


def test_regret_is_compared_with_approx_only():
    assert regrets_compared([run for run in two_tasks() if run.model != "approx"]) == []


def test_aggregates_need_two_worlds():
    assert aggregates(random_runs()) == []
    middle, better = aggregates(random_runs(seeds=5) + random_runs(seeds=5, variant="gravity"))
    assert middle.as_json()[0]["approx"]["interval"] == "stratified bootstrap"
    assert {"model": "approx", "beats": "exact"}.items() <= better.as_json()[0].items()


def test_maps_over_strength(monkeypatch):
    monkeypatch.setattr(audited, "PAIRS", 100)
    runs = [
        run for tilt in (0, 30, 75) for run in random_runs(task="craft", variant=f"tilt={tilt}")
    ]
    (table,) = strengths(runs)
    rows = table.as_json()
    assert [row["strength"] for row in rows] == [0, 30, 75]
    assert rows[0]["ε"] == 0 < rows[1]["ε"] < rows[2]["ε"]
    same(rows[1]["exact"], direct(runs[12:24], "exact", last_three))
    assert "regret of approx" in rows[0]


def test_hours_by_task_are_those_of_all_runs():
    runs = [
        *random_runs(("none", "exact"), seeds=3, variant="gravity", seconds=1800.0),
        *random_runs(("none", "exact"), seeds=3, seconds=1800.0),
        *random_runs(("approx",), seeds=1, seconds=3600.0),
    ]
    (row,) = spent(runs)[0].as_json()
    assert row["worlds"] == 2
    assert row["models"] == "none, exact, approx"
    assert row["seeds"] == "1 to 3"
    assert row["runs"] == 13
    assert row["hours"] == pytest.approx(7)


def test_what_was_run_and_what_it_cost():
    counts = {"encoder": 1, "actor": 2, "critic": 3, "total": 6}
    runs = random_runs(("exact",), parameters=counts, seconds=3600.0)
    (row,) = what_was_run(runs)[0].as_json()
    assert (row["seeds"], row["hours"], row["frames"]) == (4, 4.0, 700)
    (row,) = parameters(runs)[0].as_json()
    assert {name: row[name] for name in counts} == counts
    speed, wait = wall_clock(runs)
    assert speed.as_json()[0]["exact"]["value"] == pytest.approx(1000 * 3600 / 700)
    level = 0.9 * np.mean([last_three(run) for run in runs])
    times = [
        next((f for f, v in zip(r.frames, r.curve(), strict=True) if v >= level), np.inf)
        for r in runs
    ]
    minutes = np.median(times) * 60 / 700
    assert wait.as_json()[0]["exact"] == f"{minutes:.2g} ({np.isfinite(times).sum()} of 4)"


def test_to_arrive_seldom_is_not_to_arrive_fast():
    """The one run of `none` that arrives does so at once; the other two never do."""
    slow = [made("exact", seed, curve=[0.0, 0.0, 9.0, 9.0, 9.0], seconds=300.0) for seed in (0, 1)]
    fast = made("none", 0, curve=[9.0] * 5, seconds=300.0)
    lame = [made("none", seed, curve=[0.0] * 5, seconds=300.0) for seed in (1, 2)]
    (row,) = wall_clock([*slow, fast, *lame])[1].as_json()
    assert row["exact"] == "3 (2 of 2)"
    assert row["none"] == "– (1 of 3)"


def test_networks_that_were_only_counted():
    counts = {"encoder": 1, "actor": 2, "critic": 3, "total": 6}
    runs = [made("sit", 0, curve=[], parameters=counts)]
    names = [table.name for table in tables_of(runs)]
    assert names == ["runs", "parameters", "tasks"]


def test_captions_say_seeds_and_intervals():
    assert end(random_runs())[0].caption == (
        "Mean return of the last three evaluations. Laptop, state, sac. "
        "95 % intervals by Student's t; 4 seeds."
    )
    single = end(random_runs(seeds=1))[0]
    assert single.caption.endswith("1 seed; no interval where there is one seed.")
    assert (
        said_of([Measured(1.0, None, 4, NO_INTERVAL)]) == "4 seeds; no interval from so few runs."
    )
    assert said_of(["x", 3]) == ""


def test_unknown_tables():
    with pytest.raises(UsageError, match=r"Unknown table 'ned'\. Did you mean 'end'"):
        tables_of([], ["ned"])


def test_all_tables_of_nothing():
    assert tables_of([]) == []


NASTY = "a|b <script>alert(1)</script>\n# & % $ _ { } ~ ^ \\ `x` *y* [z](w)"


def nasty_table():
    cells = {"name": NASTY, "value": Measured(1.0, (0.5, 1.5), 3, STUDENT), "paper": Printed(2, 1)}
    return Table("t", "About.", ("name", "value", "paper"), (cells, {"name": "plain"}))


def test_columns_stand_under_each_other():
    cells = [{"task": "a long name", "x": Measured(1.0, (0.5, 1.5), 3, STUDENT)}, {"task": "b"}]
    table = Table("t", "About.", ("task", "x"), tuple(cells))
    assert table.lines() == [
        "task                   x",
        "a long name  1.00 ± 0.50",
        "b",
        "About. 95 % intervals by Student's t; 3 seeds.",
    ]
    assert len(nasty_table().lines()) == 4  # whatever a cell says, a row is a line


def test_markdown_cells_stay_cells():
    lines = nasty_table().markdown().split("\n")
    assert lines[1] == "|---|---:|---:|"
    assert "<script>" not in lines[2].replace("\\<", "").replace("\\>", "")
    assert lines[2].replace("\\|", "").count("|") == 4
    assert lines[3] == "| plain |  |  |"
    assert lines[-1] == "About. 95 % intervals by Student's t; 3 seeds."


def test_latex_cells_stay_cells():
    text = nasty_table().latex()
    row = next(line for line in text.split("\n") if "alert" in line)
    assert row.replace("\\&", "").count("&") == 2
    assert "\\%" in row
    assert "\\textbackslash{}" in row
    assert "$\\pm$" in row
    assert row.endswith("\\\\")
    assert "\\begin{tabular}{lrr}" in text
    assert "95 \\% intervals" in text


def test_verdicts_for_people():
    worlds = ("repeat_action", "reflect_action")
    levels = {"approx": 500, "exact": 100, "rpp": 100}
    runs = [
        made(model, seed, level + seed, task="acrobot-swingup", variant=variant)
        for variant in worlds
        for model, level in levels.items()
        for seed in range(5)
    ]
    table = verdicts(judge(runs, ["C3", "C4", "C1"]))
    rows = {row["claim"]: row for row in table.as_json()}
    assert rows["C3"]["verdict"] == "reproduced"
    assert "4 comparisons: 4 yes" in rows["C3"]["numbers"]
    assert "approx − exact, last third of the curve 400" in rows["C3"]["numbers"]
    assert re.search(r" p = [\d.e-]+\.$", rows["C3"]["numbers"])
    assert rows["C4"]["numbers"].startswith("Needs reacher")
    assert "spread, closed batches" in rows["C1"]["numbers"]


def test_verdicts_are_counted_by_claim():
    def judged(name, verdict):
        (claim,) = [claim for claim in CLAIMS if claim.id == name]
        return Judgement(claim, verdict, "laptop")

    some = [judged("C2", "undecided"), judged("C2", "reproduced"), judged("C3", "undecided")]
    some += [judged("C4", "refuted"), judged("C5", "not run")]
    assert counted(some) == "1 reproduced, 1 refuted, 1 undecided, 1 not run"
