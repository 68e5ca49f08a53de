"""An evaluation as tables: values, holdings, trades and baselines, in Parquet or CSV."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nearsym.errors import unknown_name
from nearsym.tasks.trading.days import import_pandas
from nearsym.tasks.trading.evaluation import Portfolios
from nearsym.tasks.trading.portfolio import Track
from nearsym.training import atomic

Format = Literal["parquet", "csv"]
FORMATS = ("parquet", "csv")


def export_portfolios(
    portfolios: Portfolios, folder: Path, format: Format = "parquet"
) -> list[str]:
    """Write `values`, `holdings`, `trades` and `baselines` to a folder; returns the files.

    All are long: one row for each day (and ticker), portfolio and episode. The price of a holding
    is the day's close, that of a trade the one it was filled at.
    """
    if format not in FORMATS:
        raise unknown_name("format of an export", format, FORMATS)
    atomic.make_place(folder, "export")
    written = []
    with atomic.explain_errors("Writing the export", folder, advice=atomic.TRY_AGAIN):
        for name, frame in tables_of(portfolios).items():
            path = folder / f"{name}.{format}"
            content = (
                frame.to_parquet(index=False) if format == "parquet" else frame.to_csv(index=False)
            )
            atomic.replace(path, content if isinstance(content, bytes) else content.encode())
            written.append(str(path))
    return written


def tables_of(portfolios: Portfolios) -> dict[str, Any]:
    """The tables as pandas frames."""
    own = [f"{portfolios.name}, sampled", f"{portfolios.name}, mean policy"]
    played = {name: portfolios.tracks[name] for name in own}
    held = {track.name: [track] for track in portfolios.baselines}
    pandas = import_pandas()
    found: dict[str, Any] = {"values": _values(played), "baselines": _values(held)}
    found["holdings"] = _stacked(_holdings(portfolios, track, at) for track, at in _each(played))
    found["trades"] = _stacked(_trades(portfolios, track, at) for track, at in _each(played))
    return {name: pandas.DataFrame(columns) for name, columns in found.items()}


def _each(named: dict[str, list[Track]]) -> Iterator[tuple[Track, dict[str, Any]]]:
    """Every record, and what says which it is."""
    for name, tracks in named.items():
        for episode, track in enumerate(tracks):
            yield track, {"portfolio": name, "episode": episode}


def _values(named: dict[str, list[Track]]) -> dict[str, np.ndarray]:
    return _stacked(
        {"date": np.array(track.dates)}
        | _repeated(about, len(track.dates))
        | {"value": track.value, "costs": track.costs}
        | {"turnover": track.turnover, "exposure": track.exposure}
        for track, about in _each(named)
    )


def _holdings(portfolios: Portfolios, track: Track, about: dict[str, Any]) -> dict[str, np.ndarray]:
    """What was held at the close of each day."""
    assert track.shares is not None
    close = portfolios.market.table.close[portfolios.market.days]
    days, stocks = np.nonzero(track.shares)
    shares, price = track.shares[days, stocks], close[days, stocks]
    return (
        {"date": np.array(track.dates)[days]}
        | _repeated(about, len(days))
        | {"ticker": np.array(portfolios.market.table.tickers)[stocks]}
        | {"shares": shares.astype(np.int64), "price": price}
        | {"weight": shares * price / track.value[days]}
    )


def _trades(portfolios: Portfolios, track: Track, about: dict[str, Any]) -> dict[str, np.ndarray]:
    """What was bought (positive) and sold (negative), on the day of the fill."""
    assert track.shares is not None
    market = portfolios.market
    at_close = market.fill == "close"
    price = (
        market.table.close[market.days][:-1]
        if at_close
        else market.table.bar("open")[market.days][1:]
    )
    filled = track.dates[:-1] if at_close else track.dates[1:]
    traded = np.diff(track.shares, axis=0)
    days, stocks = np.nonzero(traded)
    shares, paid = traded[days, stocks], price[days, stocks]
    return (
        {"date": np.array(filled)[days]}
        | _repeated(about, len(days))
        | {"ticker": np.array(market.table.tickers)[stocks]}
        | {"shares": shares.astype(np.int64), "price": paid}
        | {"costs": market.cost * np.abs(shares) * paid}
    )


def _repeated(about: dict[str, Any], count: int) -> dict[str, np.ndarray]:
    return {name: np.full(count, value) for name, value in about.items()}


def _stacked(parts: Iterable[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    found = list(parts)
    return {name: np.concatenate([part[name] for part in found]) for name in found[0]}
