"""`nearsym data`: look at market data, judge it, fetch it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nearsym.cli.flags import as_flags
from nearsym.cli.options import Positional, options_of
from nearsym.errors import UsageError

if TYPE_CHECKING:
    from nearsym.tasks.trading.judgement import Judged


@dataclass(frozen=True, kw_only=True)
class Data:
    """Show market data, check it for problems, or download it.

    show      what a file holds, and how the dates of a split divide it
    check     every problem with its row and column; exit code 2 if there are any
    download  adjusted daily prices from Yahoo Finance into the local cache
    """

    action: Positional[Literal["show", "check", "download"]]
    """show, check or download."""
    file: Positional[str] = "embedded"
    """CSV or Parquet file; the embedded 20 stocks if left out."""
    tickers: str | None = None
    """Comma-separated tickers to use or to download (download: the Dow 30 and ^DJI)."""
    start: str | None = None
    """First day, ISO."""
    end: str | None = None
    """The day after the last one, ISO."""
    late: Literal["refuse", "drop"] = "refuse"
    """What to do with tickers that start late: they are never back-filled."""
    jumps: Literal["refuse", "accept"] = "refuse"
    """What to do with jumps of a price that look like an unadjusted share split."""
    split: str | None = None
    """START,VALIDATION,TEST,END or VALIDATION,TEST; the paper's dates if left out."""
    cache: str | None = None
    """Folder for downloads; $NEARSYM_CACHE or the user's cache folder if left out."""
    refresh: bool = False
    """Download again what the cache already has."""


def run(args: Data) -> dict[str, Any]:
    """`{"tickers", "start", "end", "rows", "sha256", "problems", …}`."""
    if args.action == "download":
        return _download(args)
    return _check(args) if args.action == "check" else _show(args)


def show(result: dict[str, Any]) -> None:
    print(f"{result['source']}: {len(result['tickers'])} tickers, {result['rows']} days")
    rows = list(_lines(result))
    width = max(len(label) for label, _ in rows)
    for label, said in rows:
        print(f"  {label:<{width}}  {said}")
    options = options_of(Data)
    for problem in result["problems"]:
        print(f"    {as_flags(problem['text'], options)}")


def _lines(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What is told of data, with a label each."""
    yield "days", f"{result['start']} … {result['end']}"
    yield "tickers", " ".join(result["tickers"])
    if result.get("index"):
        yield "index", result["index"]
    yield "prices", ", ".join(result["fields"])
    notes = {
        "indicators": "",
        "left_out": " (they need high and low prices)",
        "unused": " (columns that are no prices)",
        "dropped": " (they start late)",
    }
    for name, note in notes.items():
        if result.get(name):
            yield name.replace("_", " "), f"{' '.join(result[name])}{note}"
    for part, days in result.get("split", {}).items():
        span = f", {days['start']} … {days['end']}" if days["rows"] else ": choose dates by --split"
        yield part, f"{days['rows']} days{span}"
    yield "sha256", result["sha256"]
    if "path" in result:
        yield "file", result["path"]
    if result["action"] != "show":
        yield "problems", str(len(result["problems"]) or "none")


def exit_code(result: dict[str, Any]) -> int:
    """2, bad input, for a check that found problems."""
    return 2 if result["action"] == "check" and result["problems"] else 0


def _show(args: Data) -> dict[str, Any]:
    from nearsym.tasks.trading.indicators import choose, missing
    from nearsym.tasks.trading.prices import load_prices
    from nearsym.tasks.trading.split import as_split

    table = load_prices(
        args.file,
        tickers=_names(args.tickers),
        start=args.start,
        end=args.end,
        late=args.late,
        jumps=args.jumps,
    )
    dates = as_split(args.split)
    parts: dict[str, Any] = {"train": {}, "validation": {}, "test": {}}
    for part in parts:
        try:
            days = table.dates[dates.days(table, part)]
            parts[part] = {"start": str(days[0]), "end": str(days[-1]), "rows": len(days)}
        except UsageError:
            if args.split is not None:
                raise
            # Data from other years than the paper's can be looked at all the same.
            parts[part] = {"start": None, "end": None, "rows": 0}
    present = [name for name in ("open", "high", "low") if getattr(table, name) is not None]
    return {
        "action": "show",
        "source": table.source,
        "tickers": list(table.tickers),
        "start": str(table.dates[0]),
        "end": str(table.dates[-1]),
        "rows": len(table.dates),
        "sha256": table.sha256,
        "problems": [],
        "index": table.index_name,
        "fields": [*present, "close"],
        "indicators": list(choose(table)),
        "left_out": list(missing(table)),
        "dropped": list(table.dropped),
        "split": parts,
    }


def _check(args: Data) -> dict[str, Any]:
    from nearsym.tasks.trading.prices import judged_prices

    chosen = (_names(args.tickers), args.start, args.end, args.late, args.jumps)
    return {"action": "check", **_judged_result(judged_prices(args.file, *chosen))}


def _download(args: Data) -> dict[str, Any]:
    from nearsym.tasks.trading.download import DOW_30, download
    from nearsym.tasks.trading.prices import judged_prices

    if args.file != "embedded":
        raise UsageError(f"download takes --tickers, not a file; got {args.file!r}.")
    path = download(
        _names(args.tickers) or (*DOW_30, "^DJI"),
        args.start or "2000-01-01",
        args.end or "2024-07-01",
        cache=None if args.cache is None else Path(args.cache),
        refresh=args.refresh,
    )
    return {
        "action": "download",
        "path": str(path),
        **_judged_result(judged_prices(path, late=args.late, jumps=args.jumps)),
    }


def _judged_result(judged: "Judged") -> dict[str, Any]:
    from nearsym.tasks.trading.judgement import content_hash

    raw, dropped, problems = judged
    return {
        "source": raw.source,
        "tickers": list(raw.tickers),
        "start": str(raw.dates[0]),
        "end": str(raw.dates[-1]),
        "rows": len(raw.dates),
        "sha256": content_hash(raw),
        "fields": list(raw.fields),
        "unused": list(raw.unused),
        "dropped": list(dropped),
        "problems": [asdict(problem) for problem in problems],
    }


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
