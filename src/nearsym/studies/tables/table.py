"""A table as a value: rows of numbers that know their seeds and intervals."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from nearsym.studies.paper import Printed
from nearsym.studies.selection import MODELS, model_order
from nearsym.studies.statistics import Measured

Cell = Measured | Printed | str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows by the names of columns; a cell that a row does not have stays empty.

    >>> table = Table("speeds", "How fast.", ("model", "ms"), ({"model": "none", "ms": 1.5},))
    >>> print(table.markdown())
    | model | ms |
    |---|---:|
    | none | 1.5 |
    <BLANKLINE>
    How fast.
    """

    name: str
    about: str
    """What the numbers are; the caption adds what they rest on."""
    columns: tuple[str, ...]
    rows: tuple[dict[str, Cell], ...]

    @property
    def caption(self) -> str:
        """What the numbers are, over how many seeds, with which interval."""
        basis = said_of([cell for row in self.rows for cell in row.values()])
        return f"{self.about} {basis}".strip()

    def as_json(self) -> list[dict[str, Any]]:
        """Rows of plain data; a measured cell is `{"value", "ci95", "seeds", "interval"}`."""
        return [
            {name: _plain(row[name]) for name in self.columns if row.get(name) is not None}
            for row in self.rows
        ]

    def texts(self) -> list[list[str]]:
        """Every cell as people read it."""
        digits = {name: self._digits(name) for name in self.columns}
        return [[_text(row.get(n), digits[n]) for n in self.columns] for row in self.rows]

    def numeric(self, column: str) -> bool:
        """Whether a column has numbers, which stand to the right."""
        cells = [row[column] for row in self.rows if row.get(column) is not None]
        return bool(cells) and not any(isinstance(cell, str) for cell in cells)

    def lines(self) -> list[str]:
        """For a terminal: columns under each other, and the caption."""
        body = [[" ".join(cell.split()) for cell in row] for row in [self.columns, *self.texts()]]
        widths = [max(map(len, cells)) for cells in zip(*body, strict=True)]
        right = [self.numeric(name) for name in self.columns]
        aligned = [
            "  ".join(
                cell.rjust(width) if numeric else cell.ljust(width)
                for cell, width, numeric in zip(row, widths, right, strict=True)
            )
            for row in body
        ]
        return [*(line.rstrip() for line in aligned), self.caption]

    def markdown(self) -> str:
        """For a page or an issue, with its caption below."""
        rules = ["---:" if self.numeric(name) else "---" for name in self.columns]
        lines = [_line(map(_in_markdown, self.columns)), f"|{'|'.join(rules)}|"]
        lines += [_line(map(_in_markdown, texts)) for texts in self.texts()]
        return "\n".join([*lines, "", _in_markdown(self.caption)])

    def latex(self) -> str:
        """For a paper that loads booktabs."""
        places = "".join("r" if self.numeric(name) else "l" for name in self.columns)
        head, *body = map(_latex_row, [self.columns, *self.texts()])
        rows = "\n".join(f"    {line} \\\\" for line in body)
        return (
            "\\begin{table}\n  \\centering\n"
            f"  \\caption{{{_in_latex(self.caption)}}}\n  \\label{{tab:{_label(self.name)}}}\n"
            f"  \\begin{{tabular}}{{{places}}}\n    \\toprule\n    {head} \\\\\n    \\midrule\n"
            f"{rows}\n    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n"
        )

    def _digits(self, column: str) -> int | None:
        """Decimal places of a column's means and intervals; None for three significant digits."""
        cells = [cell for row in self.rows if isinstance(cell := row.get(column), Measured)]
        sizes = [abs(value) for cell in cells for value in (cell.value, *(cell.ci95 or ()))]
        largest = max((abs(cell.value) for cell in cells if math.isfinite(cell.value)), default=0.0)
        if largest >= 0.1:
            return 0 if largest >= 100 else 1 if largest >= 10 else 2
        return 3 if max(filter(math.isfinite, sizes), default=0.0) >= 0.0005 else None


def _text(cell: Cell, digits: int | None) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Measured):
        return cell.text(digits)
    if isinstance(cell, float):
        return f"{cell:.3g}" if abs(cell) < 1000 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def said_of(cells: Sequence[Any]) -> str:
    """What the measured numbers of a table or figure rest on, as a sentence.

    >>> said_of([Measured(1.0, (0.0, 2.0), 5, "Student's t"), Measured(1.0, None, 1, "")])
    "95 % intervals by Student's t; 1 to 5 seeds; no interval where there is one seed."
    """
    numbers = [cell for cell in cells if isinstance(cell, Measured)]
    if not numbers:
        return ""
    kinds = dict.fromkeys(cell.interval for cell in numbers if cell.ci95 is not None)
    few, many = min(n.seeds for n in numbers), max(n.seeds for n in numbers)
    seeds = f"{few} to {many} seeds" if few < many else f"{few} seed{'' if few == 1 else 's'}"
    said = [f"95 % intervals by {' or '.join(kinds)}"] if kinds else []
    bare = [cell for cell in numbers if cell.ci95 is None]
    without = "no interval where there is one seed" if few == 1 else "no interval from so few runs"
    said += [seeds, *([without] if bare else [])]
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def tabled(name: str, about: str, rows: Sequence[dict[str, Cell]]) -> list[Table]:
    """The table of some rows, with the columns that they have; none if there are no rows. A scale
    that is the same everywhere is said once."""
    if not rows:
        return []
    columns = list(dict.fromkeys(column for row in rows for column in row))
    scales = {row["scale"] for row in rows if "scale" in row}
    if len(scales) == 1:
        about = f"{about} {str(scales.pop()).capitalize()}."
        columns.remove("scale")
    return [Table(name, about, tuple(sorted(columns, key=_place)), tuple(rows))]


def _place(column: str) -> tuple[int, int]:
    """What a row is about, then models in their usual order, then the paper's numbers."""
    model = column.replace(",", " ").split(" ")[0]
    if column.startswith("paper"):
        return 3, 0
    if column.startswith("regret of"):
        return 2, 0
    return (1, model_order(model)) if model in MODELS and "−" not in column else (0, 0)


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Measured):
        return cell.as_json()
    return {"value": cell.value, "half": cell.half} if isinstance(cell, Printed) else cell


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _in_markdown(text: str) -> str:
    """Nothing in a cell ends it, or is read as HTML, an entity, a formula or a link."""
    return re.sub(r"([|\\`*_<>\[\]&$~])", r"\\\1", " ".join(text.split()))


_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {char: f"\\{char}" for char in "&%$#_{}"}
_LATEX |= {"±": r"$\pm$", "−": "$-$", "≤": r"$\leq$", "×": r"$\times$", "–": "--"}
_LATEX |= {"ε": r"$\varepsilon$", "τ": r"$\tau$", "½": r"$\frac{1}{2}$", "σ": r"$\sigma$"}
_LATEX |= {"<": r"\textless{}", ">": r"\textgreater{}"}


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in " ".join(text.split()))


def _latex_row(cells: Iterable[str]) -> str:
    """A row; one that begins with [ or * would be an option of the line or rule before it."""
    row = " & ".join(map(_in_latex, cells))
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


def _label(name: str) -> str:
    return re.sub(r"\W+", "-", name)
