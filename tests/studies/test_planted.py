"""The study of planted signals: what is found of them, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.studies.builtin import builtin_study
from nearsym.studies.charts.trading import portfolios
from nearsym.studies.planted import planted_charts, planted_table, share_found
from nearsym.studies.tables.trading import trading
from study_results import made

FIGURES = ("annual_return", "sharpe_mean_over_std", "sharpe_return_over_volatility")
FIGURES += ("max_drawdown", "turnover", "costs")


def traded(model, seed, value, variant="momentum=0.3", oracle=4.0):
    ends = {f"{model}, sampled": value, "mean policy": 1.1, "uniform": 1.0, "oracle": oracle}
    rows = [
        {"name": name, "final_value": {"mean": 1e6 * end, "ci95": None}}
        | {figure: {"mean": 0.0, "ci95": None} for figure in FIGURES}
        for name, end in ends.items()
    ]
    draws = np.linspace(0.8e6, 1.2e6, 99).tolist()
    details = {"metrics": rows, "null": {"random orders": {"final_value": draws, "row": rows[2]}}}
    settings = {"task.symmetry": "T"} if model != "none" else {}
    about = {"task": "trading", "obs": None, "variant": variant, "settings": settings}
    return made(model, seed, details=details, **about)


def test_the_share_is_one_of_log_growth():
    assert share_found(traded("none", 0, 2.0)) == pytest.approx(0.5)
    assert share_found(traded("none", 0, 4.0)) == pytest.approx(1.0)
    assert share_found(traded("none", 0, 1.0)) == pytest.approx(0.0)
    assert share_found(traded("none", 0, 4.0), 1) == pytest.approx(np.log(1.1) / np.log(4))
    run = traded("none", 0, 1.0)
    run.details["metrics"] = run.details["metrics"][:3]
    with pytest.raises(UsageError, match="has no oracle beside it"):
        share_found(run)


def test_the_table_and_the_chart_have_a_place_for_every_market_and_model():
    runs = [traded("none", seed, 2.0 + 0.2 * seed) for seed in range(3)]
    runs += [traded("approx", seed, 3.0) for seed in range(3)]
    runs += [traded("approx", seed, 1.5, "momentum=0.1", oracle=1.6) for seed in range(3)]
    runs += [traded("approx", seed, 1.05, "momentum=0") for seed in range(3)]
    table, compared = planted_table(runs)
    rows = {(row["strength"], row["model"]): row for row in table.as_json()}
    assert list(rows) == [
        ("0.3", "none"),
        ("0.3", "approx T"),
        ("0.1", "approx T"),
        ("0", "approx T"),
    ]
    strong = rows["0.3", "approx T"]
    assert strong["found, sampled"]["value"] == pytest.approx(np.log(3) / np.log(4))
    assert strong["p of the value"] == pytest.approx(0.01)
    assert strong["seeds beyond chance"] == "3 of 3"
    nothing = rows["0", "approx T"]
    assert "found, sampled" not in nothing
    assert nothing["seeds beyond chance"] == "0 of 3"
    (difference,) = compared.as_json()
    assert (difference["strength"], difference["models"]) == ("0.3", "approx T − none")
    mean = np.mean([np.log(3 / (2.0 + 0.2 * seed)) / np.log(4) for seed in range(3)])
    assert difference["found, sampled"]["value"] == pytest.approx(mean)
    assert difference["found, mean policy"]["value"] == pytest.approx(0)
    (chart,) = planted_charts(runs)
    assert [line.name for line in chart.lines] == ["approx T", "none"]
    assert chart.lines[0].x == (0.1, 0.3)
    assert chart.lines[0].y == pytest.approx((np.log(1.5) / np.log(1.6), np.log(3) / np.log(4)))


def test_scales_do_not_mix():
    large = [traded("none", seed, 2.0) for seed in range(3)]
    small = [replace(traded("none", seed, 9.0), preset="smoke") for seed in range(3, 6)]
    table, *_ = planted_table([*large, *small])
    shares = {row["scale"]: row["found, sampled"]["value"] for row in table.as_json()}
    assert shares["laptop, sac"] == pytest.approx(0.5)
    assert shares["smoke, sac"] > 1


def test_planted_markets_do_not_mix_with_real_ones():
    runs = [traded("none", 0, 2.0), traded("none", 0, 2.0, variant=None)]
    (table,) = trading(runs)
    assert len([row for row in table.as_json() if "none" in row["portfolio"]]) == 2
    assert planted_table(runs[1:]) == []
    assert planted_charts(runs[1:]) == portfolios(runs[:1]) == []


def test_the_study_is_what_was_asked_for():
    cells = [cell.values for cell in builtin_study("planted", "laptop").cells()]
    momentum = [cell for cell in cells if "momentum" in cell["data"]]
    assert len(momentum) == 4 * 3 * 5  # three strengths and none; none, exact T, approx T; seeds
    stretched = [cell for cell in cells if "stretched" in cell["data"]]
    assert {cell["symmetry"] for cell in stretched} == {"T", "ST"}
    assert len(stretched) == 3 * 5 * 5
    config = builtin_study("planted", "laptop").cells()[0].config()
    assert (config.task.features, config.task.reward, config.task.orders) == (
        "returns",
        "excess",
        "weights",
    )


def test_its_settings_are_its_own_whatever_a_preset_says():
    """The known results of this study stay what they are when a preset changes."""
    config = builtin_study("planted", "laptop").cells()[0].config()
    assert (config.algorithm.learning_rate, config.algorithm.policy_average) == (1e-3, 0.002)
    assert (config.training.update_every, config.training.discount) == (8, 0.0)
    assert (config.network.hidden, config.network.window_features) == (48, 64)
