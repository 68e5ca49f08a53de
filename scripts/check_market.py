"""Check the accounts against real Dow data, which may not be redistributed with the project.

    python scripts/check_market.py FOLDER

FOLDER holds `dow_close.csv.gz` (wide adjusted closes) and `dji.csv.gz` (the index). Over the
paper's test period it prints the index and the uniform holding of the mid-2024 thirty beside the
values they must have, and exits with 1 if one of them is off.
"""

import sys
from pathlib import Path

import numpy as np

from nearsym.errors import UsageError
from nearsym.tasks.trading.baselines import hold
from nearsym.tasks.trading.download import DOW_30
from nearsym.tasks.trading.portfolio import Track, metrics
from nearsym.tasks.trading.prices import PriceTable, load_prices
from nearsym.tasks.trading.split import PAPER_SPLIT

FILES = ("dow_close.csv.gz", "dji.csv.gz")


def main(folder: Path) -> bool:
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise UsageError(
            f"{folder} is no folder of market data: expected {' and '.join(FILES)} in it, and "
            f"{missing[0]} is not there."
        )
    table = load_prices(
        folder / "dow_close.csv.gz",
        tickers=DOW_30,
        start=PAPER_SPLIT.test,
        end=PAPER_SPLIT.end,
    )
    index = load_prices(folder / "dji.csv.gz", start=PAPER_SPLIT.test, end=PAPER_SPLIT.end)
    dji = metrics(_all_in(index, "^DJI"))
    weights = np.full(len(DOW_30), 1 / len(DOW_30))
    days = slice(0, len(table.dates))
    free = metrics(hold(table, days, weights, name="free", cost=0.0, whole_shares=False))
    paid = metrics(hold(table, days, weights, name="paid", cost=0.001))
    print(f"{table}\nsha256 {table.sha256}")
    rows = [
        ("days of the test period", len(table.dates), 877, 0),
        ("^DJI final value (mm)", dji.final_value / 1e6, 1.294, 0.001),
        ("^DJI annual return (%)", 100 * dji.annual_return, 7.7, 0.05),
        ("^DJI return/volatility", dji.sharpe_return_over_volatility, 0.536, 0.005),
        ("^DJI mean/std", dji.sharpe_mean_over_std, 0.589, 0.005),
        ("uniform, fractional shares, no cost (mm)", free.final_value / 1e6, 1.3699, 0.001),
        ("uniform, whole shares, 0.1 % cost (mm)", paid.final_value / 1e6, 1.3677, 0.001),
    ]
    for name, value, expected, tolerance in rows:
        good = abs(value - expected) <= tolerance
        verdict = "ok" if good else "OFF"
        print(f"{name:45s} {value:10.4f}   expected {expected:g} ± {tolerance:g}   {verdict}")
    return all(abs(value - expected) <= tolerance for _, value, expected, tolerance in rows)


def _all_in(table: PriceTable, name: str) -> Track:
    """All the money in the table's one column, fractional and free, as an index is quoted."""
    days = slice(0, len(table.dates))
    return hold(table, days, np.ones(1), name=name, cost=0.0, whole_shares=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        raise SystemExit(0 if main(Path(sys.argv[1])) else 1)
    except UsageError as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
