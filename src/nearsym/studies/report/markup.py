"""Pieces of HTML. Everything that comes from outside is escaped here, and nowhere else."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from nearsym.studies.claims.claim import Judgement
from nearsym.studies.paper import Printed
from nearsym.studies.statistics import Measured
from nearsym.studies.tables.table import Cell, Table

TEXTUAL = 40
"""From so many characters on a cell is a text that wraps."""


def element(tag: str, *content: str, **attributes: object) -> str:
    """An element around content that is HTML already; attributes are escaped.

    >>> element("a", text("x < y"), href="#C5", class_="to")
    '<a href="#C5" class="to">x &lt; y</a>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{named}>{''.join(content)}</{tag}>"


def text(content: object) -> str:
    """Anything, as text."""
    return escape(str(content))


def section(name: str, title: str, *content: str) -> str:
    """A part of the page that the navigation can lead to; nothing if it is empty."""
    inner = "".join(content)
    return element("section", element("h2", text(title)), inner, id=name) if inner else ""


def data_table(table: Table, *, source: bool = True) -> str:
    """A table that can be sorted, its caption, and what to paste into papers."""
    shown = table.columns
    heads = [_head(name, table.numeric(name)) for name in shown]
    rows = [
        element(
            "tr", *(_cell(row.get(name), words) for name, words in zip(shown, texts, strict=True))
        )
        for row, texts in zip(table.rows, table.texts(), strict=True)
    ]
    body = f"<thead>{element('tr', *heads)}</thead><tbody>{''.join(rows)}</tbody>"
    found = element("div", element("table", body, class_="sortable"), class_="wide")
    found += element("p", text(table.caption), class_="caption")
    return found + (_sources(table) if source else "")


def _head(name: str, numeric: bool) -> str:
    button = element("button", text(name), type="button")
    return element("th", button, scope="col", class_="number" if numeric else None)


def _cell(cell: Cell, words: str) -> str:
    if isinstance(cell, Measured):
        mean, space, rest = words.partition(" ")
        shown = text(mean) + (element("span", text(space + rest), class_="ci") if rest else "")
        about = f"{cell.seeds} seeds, {cell.interval}"
        return element("td", shown, class_="number", data_value=cell.value, title=about)
    if isinstance(cell, Printed):
        return element("td", text(words), class_="number", data_value=cell.value)
    if isinstance(cell, int | float):
        return element("td", text(words), class_="number", data_value=cell)
    return element("td", text(words), class_="text" if len(words) > TEXTUAL else None)


def _sources(table: Table) -> str:
    kinds = (("Markdown", table.markdown()), ("LaTeX", table.latex()))
    blocks = [element("p", kind) + element("pre", text(source)) for kind, source in kinds]
    return element("details", element("summary", "Markdown and LaTeX"), *blocks, class_="source")


def badge(verdict: str) -> str:
    """A verdict in its colour, and in words."""
    return element("span", text(verdict), class_=f"badge {verdict.replace(' ', '-')}")


def claims_table(judged: Sequence[Judgement], numbers: Iterable[str]) -> str:
    """A row for each claim; what decided it opens to every comparison."""
    heads = [_head(name, name == "seeds") for name in ("claim", "verdict", "scale", "seeds")]
    heads += [_head("statement", False), _head("what decided", False)]
    rows = []
    for each, said in zip(judged, numbers, strict=True):
        opened = element("details", element("summary", text(said)), claim_details(each))
        cells = [
            element("td", text(each.claim.id)),
            element("td", badge(each.verdict)),
            element("td", text(each.scale)),
            element("td", text(each.seeds or ""), class_="number", data_value=each.seeds or ""),
            element("td", text(each.claim.statement), class_="text"),
            element("td", opened, class_="text decided", data_value=said),
        ]
        rows.append(element("tr", *cells))
    body = f"<thead>{element('tr', *heads)}</thead><tbody>{''.join(rows)}</tbody>"
    return element("div", element("table", body, class_="sortable claims"), class_="wide")


def claim_details(judged: Judgement) -> str:
    """Criterion, the paper's word, every comparison, what is missing."""
    facts = {"Criterion": judged.claim.criterion, "Paper": judged.claim.paper}
    if judged.p is not None:
        facts["p, corrected"] = f"{judged.p:.2g}"
    if judged.missing:
        facts["Not run"] = "; ".join(judged.missing)
    facts |= {name: _told(value) for name, value in judged.more.items()}
    inner = data_table(_comparisons(judged), source=False) if judged.questions else ""
    return definitions(facts) + inner


def _comparisons(judged: Judgement) -> Table:
    rows: list[dict[str, Any]] = [
        {
            "world": q.where,
            "what": q.what,
            "difference": q.measured,
            "inside": _region(q),
            "answer": q.answer,
        }
        for q in judged.questions
    ]
    return Table("comparisons", "", tuple(rows[0]), tuple(rows))


def _region(question: Any) -> str:
    low, high = question.low, question.high
    if high == float("inf"):
        return f"> {low:.4g}"
    return f"< {high:.4g}" if low == -float("inf") else f"{low:.4g} … {high:.4g}"


def _told(value: Any) -> str:
    if isinstance(value, dict) and "value" in value and "ci95" in value:
        ends = value["ci95"]
        interval = "" if ends is None else f" [{ends[0]:.3g}, {ends[1]:.3g}]"
        return f"{value['value']:.3g}{interval}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_told(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    return f"{value:.4g}" if isinstance(value, float) else "–" if value is None else str(value)


def definitions(facts: dict[str, str]) -> str:
    """Names and what they are."""
    pairs = [
        element("dt", text(name)) + element("dd", text(value)) for name, value in facts.items()
    ]
    return element("dl", *pairs)
