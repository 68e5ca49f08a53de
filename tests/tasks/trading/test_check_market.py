"""The check on real market data runs on any folder of the right shape, and sees wrong numbers."""

import runpy
import subprocess
import sys
from pathlib import Path

import pandas as pd

from nearsym.tasks.trading.download import DOW_30
from nearsym.tasks.trading.resample import random_walk_prices

SCRIPT = Path(__file__).parents[3] / "scripts" / "check_market.py"


def test_a_wrong_folder_is_one_sentence(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        shown = subprocess.run(
            [sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False
        )
        assert shown.returncode == 2
        assert shown.stderr.count("\n") == 1
        assert "is no folder of market data: expected dow_close.csv.gz" in shown.stderr


def test_random_prices_do_not_pass_for_the_dow(tmp_path, capsys):
    table = random_walk_prices(stocks=31, days=877, seed=0, start="2021-01-04")
    wide = pd.DataFrame(table.close[:, :30], index=table.dates, columns=list(DOW_30))
    wide.rename_axis("Date").to_csv(tmp_path / "dow_close.csv.gz")
    bars = {name: getattr(table, name)[:, 30] for name in ("open", "high", "low", "close")}
    pd.DataFrame({"Date": table.dates, **bars}).to_csv(tmp_path / "dji.csv.gz", index=False)
    main = runpy.run_path(str(SCRIPT))["main"]
    assert main(tmp_path) is False
    printed = capsys.readouterr().out
    assert (
        "days of the test period                         877.0000   expected 877 ± 0   ok"
        in printed
    )
    assert printed.count("OFF") >= 3
