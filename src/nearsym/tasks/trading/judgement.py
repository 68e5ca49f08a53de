"""One judgement of prices for everybody: what a reader's choices leave of them, and what is wrong.

`nearsym data check` and `show`, training and Python all ask here.
"""

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from nearsym.errors import UsageError, did_you_mean, shown, unknown_name
from nearsym.tasks.trading.checks import find_problems
from nearsym.tasks.trading.days import row_of
from nearsym.tasks.trading.moves import DOUBTFUL
from nearsym.tasks.trading.problems import Problem, RawPrices

Late = Literal["refuse", "drop"]
Jumps = Literal["refuse", "accept"]
FEW = 30
"""Up to so many tickers, an unknown one is answered with all of them."""


class Judged(NamedTuple):
    """What is left of some prices."""

    raw: RawPrices
    dropped: tuple[str, ...]
    """Tickers left out because they start late, by the reader's choice."""
    problems: list[Problem]
    """What is wrong with the rest; prices can be traded on only if there is nothing."""


def judge(
    raw: RawPrices,
    *,
    tickers: Sequence[str] | None = None,
    start: str | None = None,
    end: str | None = None,
    late: Late = "refuse",
    jumps: Jumps = "refuse",
) -> Judged:
    """Cut a table to some tickers and days, drop who starts late if so wanted, and judge it."""
    for name, value, choices in (
        ("choice for late tickers", late, ("refuse", "drop")),
        ("choice for suspected splits", jumps, ("refuse", "accept")),
    ):
        if value not in choices:
            raise unknown_name(name, value, choices)
    raw = _selected(raw, tickers, start, end)
    problems = find_problems(raw)
    dropped: tuple[str, ...] = ()
    if late == "drop":
        found = {problem.column for problem in problems if problem.kind == "late"}
        dropped = tuple(name for name in raw.tickers if name in found)
    if dropped == raw.tickers:
        raise UsageError(f"{raw.source} leaves no ticker to trade: all of them start late.")
    if dropped:
        raw = _without(raw, dropped)
        problems = find_problems(raw)
    accepted = DOUBTFUL if jumps == "accept" else ()
    return Judged(raw, dropped, [p for p in problems if p.kind not in accepted])


def accepted(judged: Judged) -> RawPrices:
    """Prices without problems, or the first of them as an error."""
    raw, _, problems = judged
    if problems:
        more = (
            f" (and {len(problems) - 1} more; `nearsym data check` lists all)"
            if len(problems) > 1
            else ""
        )
        raise UsageError(f"{raw.source}: {problems[0].text}{more}")
    return raw


def content_hash(raw: RawPrices) -> str:
    """SHA-256 over tickers, days and prices in one fixed byte layout; of an index the closes."""
    order = sorted(range(len(raw.tickers)), key=lambda i: raw.tickers[i].startswith("^"))
    names = [raw.tickers[i] for i in order]
    digest = hashlib.sha256("\n".join(names).encode())
    digest.update(raw.dates.astype("datetime64[D]").astype("<i8").tobytes())
    for field_name in sorted(raw.fields):
        digest.update(field_name.encode())
        for i in order:
            source = "close" if raw.tickers[i].startswith("^") else field_name
            digest.update(np.ascontiguousarray(raw.fields[source][:, i], dtype="<f8").tobytes())
    return digest.hexdigest()


def _selected(
    raw: RawPrices, tickers: Sequence[str] | None, start: str | None, end: str | None
) -> RawPrices:
    """The wanted tickers (an index column stays) and days; rows keep their number in the file."""
    if tickers is None and start is None and end is None:
        return raw
    columns = list(range(len(raw.tickers)))
    if tickers is not None:
        _check_tickers(tickers, raw)
        indices = [i for i in columns if raw.tickers[i].startswith("^")]
        wanted = [raw.tickers.index(name) for name in tickers]
        columns = list(dict.fromkeys(wanted + indices))
    first = 0 if start is None else row_of(raw.dates, start)
    last = len(raw.dates) if end is None else row_of(raw.dates, end)
    if last - first < 2:
        raise UsageError(
            f"{raw.source} has {max(last - first, 0)} days from {start or 'its start'} to "
            f"{end or 'its end'}: it covers {raw.dates[0]}…{raw.dates[-1]}."
        )
    days, names = slice(first, last), {raw.tickers[i] for i in columns}
    low, high = str(raw.dates[first]), str(raw.dates[last - 1])

    def inside(problem: Problem) -> bool:
        kept = problem.column is None or problem.column in names
        return kept and (problem.date is None or low <= problem.date <= high)

    return _cut(raw, days, columns, [problem for problem in raw.problems if inside(problem)])


def _check_tickers(tickers: Sequence[str], raw: RawPrices) -> None:
    """Refuse a ticker that is not there, with the nearest one; the case does not matter."""
    if isinstance(tickers, str) or not tickers:
        raise UsageError(f"`tickers` needs a list with at least one name, got {shown(tickers)}.")
    for name in tickers:
        if tickers.count(name) > 1:
            raise UsageError(f"`tickers` names {shown(name)} twice. Leave one of them out.")
        if name in raw.tickers:
            continue
        by_case = {ticker.upper(): ticker for ticker in raw.tickers}
        near = by_case.get(str(name).strip().upper())
        hint = f" Did you mean {near!r}?" if near else did_you_mean(str(name).upper(), by_case)
        some = ", ".join(raw.tickers[:FEW]) + (", …" if len(raw.tickers) > FEW else "")
        raise UsageError(f"Unknown ticker in {raw.source} {shown(name)}.{hint} It has: {some}.")


def _without(raw: RawPrices, dropped: tuple[str, ...]) -> RawPrices:
    """The table without some tickers, and without days that only they have."""
    columns = [i for i, name in enumerate(raw.tickers) if name not in dropped]
    days = np.flatnonzero(~np.isnan(raw.fields["close"][:, columns]).all(axis=1))
    return _cut(raw, days, columns, [p for p in raw.problems if p.column not in dropped])


def _cut(
    raw: RawPrices, days: np.ndarray | slice, columns: list[int], problems: list[Problem]
) -> RawPrices:
    """Some days and columns of a table, with the problems that remain."""
    return RawPrices(
        dates=raw.dates[days],
        tickers=tuple(raw.tickers[i] for i in columns),
        fields={name: values[days][:, columns] for name, values in raw.fields.items()},
        rows=raw.rows[days][:, columns],
        source=raw.source,
        problems=tuple(problems),
        unused=raw.unused,
    )
