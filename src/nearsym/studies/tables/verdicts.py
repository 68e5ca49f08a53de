"""The claims as a table for people."""

from collections.abc import Sequence
from typing import get_args

from nearsym.studies.claims.claim import Judgement, Question, Verdict
from nearsym.studies.tables.table import Cell, Table

VERDICTS = get_args(Verdict)


def verdicts(judged: Sequence[Judgement]) -> Table:
    """Id, verdict and scale; what decided it; what the paper says."""
    rows: list[dict[str, Cell]] = [
        {
            "claim": each.claim.id,
            "verdict": each.verdict,
            "scale": each.scale,
            "fewest seeds": each.seeds,
            "statement": each.claim.statement,
            "numbers": numbers(each),
            "paper": each.claim.paper,
        }
        for each in judged
    ]
    about = (
        f"Claims of the paper (C) and of ours (N): {counted(judged)}. 95 % intervals by Student's "
        "t, paired by seed (N1: a jackknife over seeds). Yes: the interval of a comparison meets "
        "the criterion by itself; a verdict also needs p below 0.05 after Holm's correction over "
        "its family."
    )
    columns = ("claim", "verdict", "scale", "fewest seeds", "statement", "numbers", "paper")
    return Table("claims", about, columns, tuple(rows))


def counted(judged: Sequence[Judgement]) -> str:
    """How many claims have which verdict; one that is decided at some scale is not undecided."""
    found = {verdict: {j.claim.id for j in judged if j.verdict == verdict} for verdict in VERDICTS}
    found["undecided"] -= found["reproduced"] | found["refuted"]
    return ", ".join(f"{len(ids)} {verdict}" for verdict, ids in found.items() if ids)


def numbers(judged: Judgement) -> str:
    """What decided: of several comparisons the one nearest to overturning the verdict, and how
    many agree with it."""
    if judged.verdict == "not run":
        return f"Needs {judged.more.get('needs', '')}."
    if not judged.questions:
        return "; ".join(told for item in judged.more.items() if (told := _told(*item)))
    telling = _telling(judged)
    answers = [question.answer for question in judged.questions]
    each = ", ".join(f"{answers.count(a)} {a}" for a in ("yes", "open", "no") if a in answers)
    missing = f"; {len(judged.missing)} not run" if judged.missing else ""
    said = f"{telling.where}: {telling.what} {telling.measured.text()}"
    plural = "" if len(answers) == 1 else "s"
    return f"{said}. {len(answers)} comparison{plural}: {each}{missing}.{_corrected(judged)}"


def _corrected(judged: Judgement) -> str:
    """Comparisons that agree need not decide a claim: it is one of several."""
    return f" p = {judged.p:.2g}." if judged.p is not None and judged.p < 1 else ""


def _telling(judged: Judgement) -> Question:
    if judged.verdict == "refuted":
        return min(judged.questions, key=lambda question: question.outside)
    ways: dict[str, list[Question]] = {}
    for question in judged.questions:
        ways.setdefault(question.way, []).append(question)
    weakest = [max(way, key=lambda question: question.inside) for way in ways.values()]
    return min(weakest, key=lambda question: question.inside)  # of the way that holds best


def _told(name: str, value: object) -> str:
    """A number with its name; tables of them are left to the details."""
    if isinstance(value, float):
        return f"{name} {value:.3g}"
    return f"{name} {value}" if isinstance(value, int | str) else ""
