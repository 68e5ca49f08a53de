"""Our own claims: regret, what the audit predicts, and relaxed weights that stay put."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from nearsym.studies.audited import kept_measure, measure_of, worlds_by_task
from nearsym.studies.claims.claim import Claim, Question
from nearsym.studies.claims.control import MARGIN
from nearsym.studies.claims.evidence import Evidence, higher
from nearsym.studies.comparison import comparable
from nearsym.studies.regret import regret_of
from nearsym.studies.results import RunResult
from nearsym.studies.scores import at_end, by_seed
from nearsym.studies.selection import TRADING, alike, by_arm, plain, settings_of
from nearsym.studies.statistics import Values, differences, mean_over_seeds
from nearsym.studies.sweeps import sweeps
from nearsym.studies.worlds import CARTPOLE, STRENGTHS, WORLDS
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.task import RELAXED_FROM
from nearsym.tasks.strength import ORIGINAL

Place = TypeVar("Place")
MODELS = ("none", "exact", "approx", "rpp")
START, LATER = "relaxed_from", "later start"
HOLDING = ("spread", "relaxed")
"""How the names of settings begin that treat relaxed weights."""
LEAST_TASKS = 2
"""In which a treatment of relaxed weights has to hold."""


def _smallest_worst(e: Evidence) -> None:
    every = [run for runs in e.worlds.values() for run in runs]
    found = regret_of(every, models=MODELS)
    if found is None or len(found.worlds) < 2:
        e.missing.append("two worlds or more with none, exact, approx and rpp over three seeds")
        return
    for other in ("none", "exact", "rpp"):
        more = found.worst_beyond(other, "approx")
        what = f"{other} − approx, worst regret"
        e.questions.append(Question(f"{len(found.worlds)} worlds", what, more))
    for name, measure in (("worst", found.worst), ("mean", found.mean)):
        e.more[f"{name} regret"] = {model: measure(model).as_json() for model in MODELS}
    e.more["worlds"] = [str(world) for world in found.worlds]


def _epsilon_predicts(e: Evidence) -> None:
    every = [run for runs in e.worlds.values() for run in runs]
    for sweep in sweeps(every):
        epsilons = sweep.measured("epsilon")
        taus = _taus(epsilons, sweep.runs)
        what = "Kendall's τ of ε with exact − none"
        e.ask_of(sweep.title, what, taus, -math.inf, 0.0, ranks=True)
        e.more[sweep.title] = {"strengths": list(epsilons), "ε": list(epsilons.values())}
    if not e.questions:
        e.missing.append("a sweep of three strengths or more with none and exact")


def _mean_error_predicts(e: Evidence) -> None:
    """Judged on cartpole alone: it was seen on the other tasks before it was written down."""
    usual = {world: plain(runs) for world, runs in e.worlds.items()}
    both = {world: runs for world, runs in usual.items() if _gain(runs)}
    names = (*WORLDS[CARTPOLE], *STRENGTHS)
    wanted = [e.world(CARTPOLE, None if name == ORIGINAL else name) for name in names]
    e.missing += [f"{world}: none and exact" for world in wanted if world not in both]
    for title, worlds in worlds_by_task(both).items():
        errors = {w: kept_measure(runs, "mean_error") for w, runs in worlds.items()}
        taus = _taus(errors, worlds)
        e.more[title] = {"mean errors": {w.variant or ORIGINAL: v for w, v in errors.items()}}
        e.more[title]["τ"] = mean_over_seeds(taus).as_json() if taus else None
    if e.missing:
        return
    errors = {world: measure_of(world, both[world], "mean_error") for world in wanted}
    unknown = [world for world, error in errors.items() if error is None]
    e.missing += [f"{world}: an audit, which needs nearsym[dmc]" for world in unknown]
    if not unknown:
        what = "Kendall's τ of the mean error with exact − none"
        e.ask_of(CARTPOLE, what, _taus(errors, both), -math.inf, 0.0, ranks=True)


def _taus(measured: Mapping[Place, float | None], runs: Mapping[Place, list[RunResult]]) -> Values:
    """For each seed, over some worlds: the rank correlation of what the audit measured there with
    what exact wins."""
    from scipy.stats import kendalltau  # here: slow to import

    known = {place: value for place, value in measured.items() if value is not None}
    gains = [_gain(runs[place]) for place in known]
    seeds = set.intersection(*map(set, gains)) if len(gains) > 1 else set()
    taus = {
        seed: float(kendalltau(list(known.values()), [gain[seed] for gain in gains]).statistic)
        for seed in sorted(seeds)
    }
    # It is undefined where exact wins the same everywhere, which is no relation either.
    return {seed: 0.0 if math.isnan(tau) else tau for seed, tau in taus.items()}


def _gain(runs: list[RunResult]) -> dict[int, float]:
    arms = by_arm(runs)
    exact, none = comparable(arms.get("exact", []), arms.get("none", []))
    return differences(by_seed(exact, at_end), by_seed(none, at_end))


def _stay_put(e: Evidence) -> None:
    """Every treatment of the relaxed weights is one way in which the claim can hold."""
    treated = {
        name: None
        for runs in e.worlds.values()
        for run in runs
        for name in [treatment(run)]
        if name
    }
    # A way that was begun and is not complete decides nothing while another one is.
    found = {way: _evidence_of(e, way) for way in treated}
    whole = [one for one in found.values() if not one.missing]
    e.more["not complete"] = {way: one.missing for way, one in found.items() if one.missing}
    for one in whole or found.values():
        e.questions += one.questions
        e.missing += one.missing
    if not treated:
        e.missing.append("approx with and without a treatment of its relaxed weights")


def _evidence_of(every: Evidence, way: str) -> Evidence:
    """The questions about one treatment. One task is too few: where approx loses nothing to begin
    with, every treatment keeps it there."""
    e = Evidence(every.scale, every.worlds)
    asked: dict[bool, set[str]] = {True: set(), False: set()}
    for world, runs in e.worlds.items():
        if world.task == TRADING:
            continue  # no market is the symmetric one
        even = world.variant is None
        if _ask_of_treatment(e, str(world), way, runs, even):
            asked[even].add(world.task)
    lacking = LEAST_TASKS - len(asked[True] & asked[False])
    if lacking > 0:
        more = f"{lacking} more task{'s' if lacking > 1 else ''}"
        e.missing.append(f"approx, {way}, in a symmetric and a modified world of {more}")
    return e


def _ask_of_treatment(e: Evidence, where: str, way: str, runs: list[RunResult], even: bool) -> bool:
    """Not below exact where the world is symmetric, not below plain approx elsewhere; whether there
    is something to compare."""
    treated = [run for run in runs if treatment(run) == way]
    if not alike(map(settings_of, treated)):
        e.missing.append(f"{where}: one value of {way}")
        return False
    rival = "exact" if even else "approx"
    usual = plain([run for run in runs if treatment(run) is None], but=START)
    rivals = [run for run in usual if run.model == rival]
    if not alike(map(_beside_treatment, [*treated, *rivals])):
        e.missing.append(f"{where}: approx, {way}, and {rival} with the same settings")
        return False
    changed, other = (by_seed(some, at_end) for some in comparable(treated, rivals))
    if changed and other:
        margin = MARGIN * higher(changed, other)
        plainly = rival if even else f"plain {rival}"
        e.ask(where, f"approx, {way} − {plainly}", changed, other, -margin, way=way)
    return bool(changed and other)


def treatment(run: RunResult) -> str | None:
    """The settings that hold relaxed weights together, as one name; None for plain runs."""
    if run.model != "approx":
        return None
    settings = {n: v for n, v in settings_of(run).items() if n != START}
    held = [f"{n} {v}" for n, v in settings.items() if n.startswith(HOLDING)]
    # When relaxed weights begin may depend on the task: one way, whatever the number.
    later = [LATER] if _begins(run) else []
    return ", ".join(sorted(held + later)) or None


def _beside_treatment(run: RunResult) -> dict[str, Any]:
    return {n: v for n, v in settings_of(run).items() if not n.startswith(HOLDING)}


def _begins(run: RunResult) -> int:
    """After how many updates the relaxed weights of a run learn."""
    late = run.task in DOMAINS and (run.agent, run.preset) == ("sac", "laptop")
    return int(settings_of(run).get(START, RELAXED_FROM if late else 0))


CLAIMS = [
    Claim(
        "N1",
        "approx has the smallest worst regret over worlds among none, exact, approx and rpp.",
        "regret",
        "Returns at the end, normalised per task. The best model of a world and the worst world of "
        "a model are chosen on half of the seeds and measured on the other half. The worst regret "
        "of each other model lies above that of approx.",
        "Ours.",
        _smallest_worst,
        family="regret",
        needs="worlds × none, exact, approx, rpp × 5 seeds; the tilts of craft: 280 runs",
    ),
    Claim(
        "N2",
        "The larger the audit's ε, the less exact wins over none.",
        "regret",
        "Within each strength sweep, seed by seed: Kendall's τ of ε with return(exact) − "
        "return(none) lies below 0.",
        "Ours.",
        _epsilon_predicts,
        family="regret",
        needs="a sweep of strengths × none, exact × 5 seeds",
    ),
    Claim(
        "N3",
        "A penalty, a slower rate or a later start of relaxed weights removes what approx loses to "
        "exact on symmetric tasks, without loss elsewhere.",
        "stay-put",
        "For one of the treatments: at the end approx with it is not more than 5 % below exact on "
        "originals, and not more than 5 % below plain approx in modified worlds, in two tasks or "
        "more.",
        "Ours.",
        _stay_put,
        family="regret",
        needs="craft, ball_in_cup and reacher × exact, approx, approx with each treatment × 5 "
        "seeds",
    ),
    Claim(
        "N4",
        "Among the worlds of a task, the larger the audit's mean error, the less exact wins over "
        "none.",
        "regret",
        "Cartpole, the four worlds of the paper and reflect_action at three more strengths, seed "
        "by seed: Kendall's τ of the mean error over all samples with return(exact) − return(none) "
        "lies below 0. The other tasks, on which this was seen first, are reported beside it.",
        "Ours.",
        _mean_error_predicts,
        family="regret",
        needs="cartpole, seven worlds × none, exact × 5 seeds (70 runs)",
    ),
]
