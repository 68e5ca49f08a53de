"""Every claim against results that reproduce it, refute it, leave it open, or are not there."""

import json
import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from nearsym.errors import UsageError
from nearsym.measures.intervals import STUDENT
from nearsym.studies import audited
from nearsym.studies.claims import computed
from nearsym.studies.claims.claim import Question, chances
from nearsym.studies.claims.control import ACROBOT, CARTPOLE, CUP, REACHER, TASKS, VARIANTS
from nearsym.studies.claims.judge import CLAIMS, claim_ids, judge
from nearsym.studies.claims.ours import treatment
from nearsym.studies.paper import TABLE_1
from nearsym.studies.regret import regret_of
from nearsym.studies.scores import noise_of_tests
from nearsym.studies.statistics import Measured, mean_over_seeds
from nearsym.studies.tables.verdicts import numbers
from nearsym.studies.worlds import STRENGTHS
from study_results import made

SEEDS = range(6)
PIXELS = {"obs": "pixels", "agent": "drqv2"}


def around(verdict, seed_of):
    """A level for each seed: close to it, or far apart where nothing is to be decided."""
    rng = np.random.default_rng(seed_of)
    return lambda level: level + rng.normal(0, 150 if verdict == "undecided" else 0.5)


def world(verdict, levels, number=0, **more):
    """Runs of models at some levels."""
    draw = around(verdict, number)
    return [made(model, s, draw(level), **more) for model, level in levels.items() for s in SEEDS]


def worlds(verdict, levels, places, **more):
    return [
        run
        for i, (task, variant) in enumerate(places)
        for run in world(verdict, levels, i, task=task, variant=variant, **more)
    ]


def pick(verdict, good, bad):
    """What reproduces or refutes; where nothing is to be decided, all alike."""
    if verdict == "undecided" and isinstance(good, dict):
        return dict.fromkeys(good, 1000)
    return bad if verdict == "refuted" else good


def originals():
    return [(task, None) for task in TASKS]


def c2(v):
    levels = pick(
        v, {"none": 50, "exact": 90, "approx": 90}, {"none": 90, "exact": 50, "approx": 50}
    )
    return worlds(v, levels, originals(), **PIXELS)


def c3(v):
    levels = pick(v, {"approx": 90, "exact": 60, "rpp": 60}, {"approx": 60, "exact": 90, "rpp": 90})
    return worlds(v, levels, [(ACROBOT, "repeat_action"), (ACROBOT, "reflect_action")])


def c4(v):
    levels = pick(v, {"exact": 95, "approx": 90, "rpp": 60}, {"exact": 50, "approx": 90, "rpp": 60})
    return worlds(v, levels, [(REACHER, x) for x in (None, *VARIANTS[REACHER])])


def c5_places():
    return [(task, x) for task in (CARTPOLE, CUP) for x in (None, *VARIANTS[task])]


def c5(v):
    levels = {"none": pick(v, 900, 500), "exact": 905, "approx": 903, "rpp": 901}
    return worlds(v, levels, c5_places())


def c6(v):
    return worlds(v, {"exact": 900, "approx": pick(v, 899, 600)}, originals())


def weights(v, places, parts, part):
    """Runs of approx whose first layers differ by some amount from the original's."""
    runs = []
    for i, (task, variant) in enumerate(places):
        rng = np.random.default_rng(i)
        for seed in SEEDS:
            size = 0.05 if variant is None else pick(v, 0.4, 0.001)
            size += abs(rng.normal(0, 1.0 if v == "undecided" else 1e-4))
            broken, equal = [[[1 + size, 1 - size]]] * 6, [[[1, 1]]] * 6
            relaxed = {name: broken if name.startswith(part) else equal for name in parts}
            runs.append(made("approx", seed, task=task, variant=variant, relaxed=relaxed))
    return runs


def c7(v):
    places = [(t, x) for t in (ACROBOT, CARTPOLE) for x in (None, *VARIANTS[t])]
    return weights(v, places, ("encoder.convs.0", "actor.body"), "encoder")


def c8(v):
    places = [(CUP, x) for x in (None, *VARIANTS[CUP])]
    return weights(v, places, ("encoder.convs.0", "actor.body"), "actor")


def row(i):
    """The i-th row of the paper's table of returns."""

    def make(v):
        task, variant = list(TABLE_1)[i]
        printed = {model: number.value for model, number in TABLE_1[task, variant].clean.items()}
        levels = dict.fromkeys(printed, 900.0)
        best = max(printed.values())
        if v == "refuted":
            levels = {m: 600.0 if value == best else 900.0 for m, value in printed.items()}
        return world(v, levels, task=task, variant=variant)

    return make


def noise_tests(v, good, bad, places, **more):
    """Runs with a share that is kept under noise."""
    runs = []
    for i, (task, variant) in enumerate(places):
        draw = around(v, i)
        for model, level in pick(v, good, bad).items():
            for seed in SEEDS:
                found = {"clean": [900.0], noise_of_tests(task): [draw(level)]}
                about = {"task": task, "variant": variant, "evaluations": found} | PIXELS | more
                runs.append(made(model, seed, **about))
    return runs


def c17(v):
    good, bad = {"approx": 800, "exact": 300, "none": 9}, {"approx": 9, "exact": 300, "none": 300}
    return noise_tests(v, good, bad, [(task, variant) for task, variant in TABLE_1 if variant])


def c18(v):
    good, bad = (
        {"approx": 970, "exact": 900, "none": 900},
        {"approx": 90, "exact": 900, "none": 900},
    )
    return noise_tests(v, good, bad, [(CUP, "gravity")], settings={"task.noise": 0.06})


def c19(v):
    runs = []
    for task in (ACROBOT, CUP):
        draw = around(v, len(task))
        for i, tau in enumerate((0.005, 0.009, 0.01, 0.02)):
            for model, step in pick(
                v, {"rpp": 100, "approx": 1}, {"rpp": 1, "approx": 100}
            ).items():
                # Laptop's own value is not among the settings that were changed.
                changed = {} if tau == 0.01 else {"algorithm.target_tau": tau}
                about = {"task": task, "settings": changed}
                runs += [made(model, s, draw(300 + i * step), **about) for s in SEEDS]
    return runs


def c20(v):
    draw = around(v, 0)
    times = pick(
        v, {"none": 600, "exact": 1200, "approx": 1300}, {"none": 999, "exact": 9, "approx": 9}
    )
    return [
        made(model, seed, seconds=max(1.0, draw(t)), task=CARTPOLE)
        for model, t in times.items()
        for seed in SEEDS
    ]


def portfolios(v, figure, levels, others=1e6):
    draw = around(v, 0)
    runs = []
    for arm, level in levels.items():
        model, _, kind = arm.partition(" ")
        for seed in SEEDS:
            value = {"mean": 1000 * draw(level), "ci95": None}
            metrics = [{"name": f"{arm}, sampled", figure: value}, {"name": "mean policy"}]
            metrics.append({"name": "uniform", "final_value": {"mean": 1.4e6, "ci95": None}})
            settings = {"task.symmetry": kind} if kind else {}
            about = {"task": "trading", "obs": "window", "settings": settings}
            runs.append(made(model, seed, details={"metrics": metrics}, **about))
    return runs


def c21(v):
    good = {"approx ST": 1490, "approx T": 1430, "exact ST": 1300, "exact T": 1300, "none": 1300}
    return portfolios(v, "final_value", pick(v, good, good | {"none": 1900}))


def c22(v):
    good = {"exact ST": 1410, "none": 1380, "exact T": 1300}
    return portfolios(v, "final_value", pick(v, good, good | {"exact T": 1900}))


def c23(v):
    runs = []
    rng = np.random.default_rng(0)
    for kind in ("T", "ST"):
        for seed in SEEDS:
            days = np.ones(9)
            days[pick(v, -1, 0)] += 0.3
            days += rng.normal(0, 1.0 if v == "undecided" else 0.01, 9)
            relaxed = {"encoder.lift.relaxed_scale": [[[1.0, 1.1, 0.9]]]} if kind == "ST" else {}
            relaxed["encoder.layers.0"] = [[days.tolist()]]
            about = {"task": "trading", "obs": "window", "settings": {"task.symmetry": kind}}
            runs.append(made("approx", seed, curve=[1.0], relaxed=relaxed, **about))
    return runs


def c24(v):
    good = {"approx ST": 20, "exact ST": 60, "exact T": 60}
    return portfolios(v, "costs", pick(v, good, good | {"approx ST": 90}))


def n1(v):
    places = [("craft", None), ("craft", "tilt=30"), ("craft", "tilt=75")]
    levels = [
        {"none": 60, "exact": 100, "approx": 95, "rpp": 70},
        {"none": 90, "exact": 80, "approx": 95, "rpp": 70},
        {"none": 100, "exact": 20, "approx": 95, "rpp": 70},
    ]
    if v == "refuted":
        levels = [level | {"approx": 10} for level in levels]
    return [
        run
        for i, ((task, variant), level) in enumerate(zip(places, levels, strict=True))
        for run in world(v, level, i, task=task, variant=variant)
    ]


def n2(v):
    runs = []
    for i, tilt in enumerate((0, 30, 60, 90)):
        levels = {"none": 100, "exact": 100 + pick(v, -1, 1) * 10 * i}
        runs += world(v, levels, i, task="craft", variant=f"tilt={tilt}")
    return runs


N3_TASKS = ("craft", "my_robot:make")


def n3(v):
    runs = []
    places = [(task, *place) for task in N3_TASKS for place in ((None, 100), ("tilt=75", 20))]
    for i, (task, variant, exact) in enumerate(places):
        at = {"task": task, "variant": variant}
        runs += world(v, {"none": 60, "exact": exact, "approx": 80}, i, **at)
        for strength, level in ((0.1, pick(v, 100, 50)), (1.0, 30)):
            held = {"settings": {"network.spread_strength": strength}}
            runs += world(v, {"approx": level}, 10 + i, **at, **held)
    return runs


def n4(v):
    runs = []
    names = [None, "gravity", *STRENGTHS, "repeat_action", "reflect_action"]
    for i, variant in enumerate(names):
        levels = {"none": 100, "exact": 100 + pick(v, -1, 1) * 10 * i}
        broken = {"details": {"mean_error": 0.1 * i, "epsilon": 0.1 * i}}
        runs += world(v, levels, i, task=CARTPOLE, variant=variant, **broken)
    return runs


RECIPES = {"C2": c2, "C3": c3, "C4": c4, "C5": c5, "C6": c6, "C7": c7, "C8": c8}
RECIPES |= {f"C{9 + i}": row(i) for i in range(8)}
RECIPES |= {"C17": c17, "C18": c18, "C19": c19, "C20": c20, "C21": c21, "C22": c22}
RECIPES |= {"C23": c23, "C24": c24, "N1": n1, "N2": n2, "N3": n3, "N4": n4}


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch):
    monkeypatch.setattr(audited, "PAIRS", 100)


@pytest.mark.parametrize("verdict", ["reproduced", "refuted", "undecided"])
@pytest.mark.parametrize("name", RECIPES)
def test_verdicts(name, verdict):
    (found,) = judge(RECIPES[name](verdict), [name])
    assert found.verdict == verdict, [question.as_json() for question in found.questions]
    assert found.seeds == 6
    assert found.scale.startswith("laptop, ")
    assert found.missing == ()
    json.dumps(found.as_json())


def test_claims_about_trading_hold_in_every_market_that_was_run():
    there, elsewhere = c21("reproduced"), c21("refuted")
    for market, verdict in (("dow", "refuted"), ("momentum=0.3", "reproduced")):
        runs = [*there, *(replace(run, variant=market) for run in elsewhere)]
        (judged,) = judge(runs, ["C21"])
        assert judged.verdict == verdict
    (judged,) = judge([replace(run, variant="dow") for run in there], ["C21"])
    assert judged.verdict == "reproduced", "a file alone will do"


@pytest.mark.parametrize("name", RECIPES)
def test_not_run(name):
    (found,) = judge([], [name])
    assert (found.verdict, found.questions, found.seeds) == ("not run", (), None)
    assert found.more["needs"]


def test_every_claim_has_its_criterion_and_the_papers_word():
    assert claim_ids() == [f"C{i}" for i in range(1, 27)] + ["N1", "N2", "N3", "N4"]
    assert {claim.id for claim in CLAIMS} == set(RECIPES)
    for claim in [*CLAIMS, *computed.COMPUTED]:
        for text in (claim.statement, claim.criterion, claim.paper):
            assert text.endswith("."), claim.id


def test_the_papers_numbers_stand_beside_ours():
    (found,) = judge(RECIPES["C12"]("reproduced"), ["C12"])
    assert "approx 859 ± 0.4, exact 749 ± 13, none 855 ± 0.6" in found.as_json()["paper"]


def test_part_of_the_runs_can_refute_but_not_reproduce():
    for verdict, expected in (("reproduced", "undecided"), ("refuted", "refuted")):
        some = [run for run in c2(verdict) if run.task == CARTPOLE]
        (found,) = judge(some, ["C2"])
        assert found.verdict == expected
        assert len(found.questions) == 2
        assert "acrobot-swingup original: exact − none, area under the curve" in found.missing


@pytest.mark.parametrize("variant", [None, "tilt=75"])
def test_a_treatment_needs_a_symmetric_and_a_modified_world(variant):
    runs = [run for run in n3("reproduced") if run.variant == variant]
    (found,) = judge(runs, ["N3"])
    assert found.verdict == "undecided"
    (missing,) = {text.partition(", in ")[2] for text in found.missing}
    assert missing == "a symmetric and a modified world of 2 more tasks"


def test_a_treatment_that_holds_in_one_task_may_have_had_nothing_to_do():
    runs = [run for run in n3("reproduced") if run.task == "craft"]
    (found,) = judge(runs, ["N3"])
    assert found.verdict == "undecided"
    assert all(text.endswith("world of 1 more task") for text in found.missing)


def test_later_starts_are_one_way_whatever_their_number():
    runs = [made("approx", 0, 1.0, settings={"network.relaxed_from": n}) for n in (1000, 5000)]
    assert {treatment(run) for run in runs} == {"later start"}


def test_control_tasks_begin_later_unless_they_say_so():
    """At the preset laptop; plain approx is then what begins at once."""
    at = {"task": "reacher-hard", "preset": "laptop", "obs": "state", "agent": "sac"}
    settings = ({}, {"network.relaxed_from": 0}, {"network.relaxed_from": 100})
    runs = [made("approx", 0, 1.0, settings=one, **at) for one in settings]
    assert [treatment(run) for run in runs] == ["later start", None, "later start"]
    assert treatment(made("approx", 0, 1.0, **(at | {"preset": "paper"}))) is None
    assert treatment(made("approx", 0, 1.0, **(at | {"task": "craft"}))) is None


def test_plain_approx_may_say_that_it_begins_at_once():
    scale = {"preset": "laptop", "obs": "state", "agent": "sac"}
    levels = {"exact": 1000, "approx": 1000}
    at_once = {"settings": {"network.relaxed_from": 0}}
    runs = []
    for task, variant in product((REACHER, CUP), (None, "reflect_action")):
        at = {"task": task, "variant": variant, **scale}
        runs += world("reproduced", levels, **at)
        runs += world("reproduced", {"approx": 500}, **at, **at_once)
    (found,) = judge(runs, ["N3"])
    assert found.verdict == "reproduced"
    asked = {question.what for question in found.questions}
    assert asked == {"approx, later start − exact", "approx, later start − plain approx"}


def test_several_starts_in_one_world_are_not_mixed():
    runs = n3("reproduced")
    for n in (1000, 5000):
        at = {"task": "craft", "settings": {"network.relaxed_from": n}}
        runs += world("reproduced", {"approx": 100}, n, **at)
    (found,) = judge(runs, ["N3"])
    assert found.verdict == "reproduced"  # by the treatments that are complete
    missing = found.more["not complete"]["later start"]
    assert any(one.endswith("one value of later start") for one in missing)


def test_what_decides_is_shown_of_the_treatment_that_holds():
    runs = n3("reproduced")
    for variant in (None, "reflect_action"):
        at = {"task": CUP, "variant": variant, "settings": {"network.relaxed_decay": 0.9}}
        runs += world("reproduced", {"approx": 10}, 7, **at)
    (found,) = judge(runs, ["N3"])
    assert found.verdict == "reproduced"
    assert "relaxed_decay 0.9" not in numbers(found)


def test_treated_runs_are_compared_up_to_the_same_frame():
    """Those that trained twice as long end higher, and are no better."""
    long = {"curve": [50] * 6 + [100] * 6}
    runs = []
    for task, variant in product(N3_TASKS, (None, "tilt=30")):
        at = {"task": task, "variant": variant}
        runs += world("reproduced", {"exact": 100, "approx": 100}, **at)
        changed = {"settings": {"network.relaxed_rate": 0.1}, **long}
        runs += world("reproduced", {"approx": 100}, **at, **changed)
    assert judge(runs, ["N3"])[0].verdict == "refuted"


def test_the_audit_is_judged_on_all_seven_worlds_of_its_claim_and_no_others():
    runs = n4("reproduced")
    some = [run for run in runs if run.variant in (None, "gravity", "repeat_action")]
    turned = [replace(run, model={"none": "exact", "exact": "none"}[run.model]) for run in some]
    assert judge(turned, ["N4"])[0].verdict == "not run"
    other = made("none", 0, task=CARTPOLE, variant="gravity=3", details={"mean_error": 0.0})
    (found,) = judge([*runs, other, replace(other, model="exact")], ["N4"])
    assert (found.verdict, found.seeds) == ("reproduced", len(SEEDS))


def test_the_audit_has_to_be_known(monkeypatch):
    monkeypatch.setattr(audited, "audited", lambda *world: None)
    (found,) = judge([replace(run, details={}) for run in n4("reproduced")], ["N4"])
    assert found.verdict == "not run"
    assert all(one.endswith("an audit, which needs nearsym[dmc]") for one in found.missing)


@pytest.mark.parametrize("name", ["N2", "N4"])
def test_few_seeds_do_not_decide_by_ranks(name):
    """Two of them agree by chance."""
    few = [run for run in RECIPES[name]("reproduced") if run.seed < 2]
    assert judge(few, [name])[0].verdict == "undecided"


def test_a_seed_without_any_relation_counts():
    runs = [run for run in n2("reproduced") if run.seed < 5]
    flat = [replace(run, returns=[[5.0]] * 6) if run.seed > 1 else run for run in runs]
    (found,) = judge(flat, ["N2"])
    assert (found.verdict, found.seeds) == ("undecided", 5)


def test_runs_with_other_settings_are_none_of_the_sweep_of_tau():
    runs = c19("reproduced")
    other = {"settings": {"network.relaxed_rate": 0.1}, "task": CUP}
    runs += world("reproduced", {"approx": 1}, **other)
    assert judge(runs, ["C19"])[0].verdict == "reproduced"


@pytest.mark.parametrize(
    "change", [{"evaluations": {}}, {"frames": [200, 300, 400, 500, 600, 700]}]
)
def test_best_checkpoints_are_compared_with_each_other_or_not_at_all(change):
    """Where some were not played, or trained longer, the end of training counts."""
    tested = world("reproduced", {"exact": 90}, task=CARTPOLE, evaluations={"clean": [50.0] * 9})
    others = world("reproduced", {"none": 90, "approx": 90}, task=CARTPOLE)
    others = [replace(run, **{"evaluations": {"clean": [90.0] * 9}, **change}) for run in others]
    (found,) = judge([*tested, *others], ["C11"])
    assert found.verdict == "reproduced"
    assert found.questions[0].what == "exact − approx, last three evaluations"


def test_a_world_without_none_keeps_no_verdict_on_time_from_being_reached():
    runs = [*c20("reproduced"), made("approx", 0, task=REACHER, seconds=9.0)]
    assert judge(runs, ["C20"])[0].verdict == "reproduced"


def test_pixels_only():
    state = worlds("reproduced", {"none": 50, "exact": 90, "approx": 90}, originals())
    assert judge(state, ["C2"])[0].verdict == "not run"


def test_a_verdict_for_each_scale_the_papers_first():
    laptop, paper = c6("reproduced"), worlds("refuted", {"exact": 9, "approx": 1}, originals(),
                                             preset="paper")  # fmt: skip
    found = judge([*laptop, *paper], ["C6"])
    assert [(j.scale, j.verdict) for j in found] == [
        ("paper, state, sac", "refuted"),
        ("laptop, state, sac", "reproduced"),
    ]


def few(gap, by):
    levels = {"approx": 500 + gap, "exact": 500, "rpp": 500}
    rng = np.random.default_rng(1)
    return [
        made(m, s, level + rng.normal(0, by), task=ACROBOT, variant=x)
        for x in ("repeat_action", "reflect_action")
        for m, level in levels.items()
        for s in range(4)
    ]


def test_few_seeds_decide_only_what_lies_beyond_every_spread():
    assert judge(few(10, 8.0), ["C3"])[0].verdict == "undecided"
    assert judge(few(400, 4.0), ["C3"])[0].verdict == "reproduced"


def test_one_seed_decides_nothing():
    one = [run for run in few(400, 4.0) if run.seed == 0]
    (found,) = judge(one, ["C3"])
    assert found.verdict == "undecided"
    assert all(question.measured.ci95 is None for question in found.questions)


def test_curves_are_compared_up_to_the_same_frame():
    long = [made("exact", s, curve=[1, 1, 1, 1, 1, 1, 99, 99, 99 + 0.1 * s], task=ACROBOT,
                 variant="repeat_action") for s in SEEDS]  # fmt: skip
    short = [made("approx", s, curve=[5, 5, 5, 5, 5, 5 + 0.1 * s], task=ACROBOT,
                  variant="repeat_action") for s in SEEDS]  # fmt: skip
    (found,) = judge([*long, *short], ["C3"])
    assert found.questions[0].measured.value == pytest.approx(4 + 0.125)


def test_claims_of_a_family_are_corrected_together():
    def p_of(ids, runs):
        return {j.claim.id: j.p for j in judge(runs, ids)}

    alone = p_of(["C3"], c3("reproduced"))
    beside = p_of(["C3"], c3("reproduced") + c4("reproduced"))
    assert beside["C3"] > alone["C3"]


def test_false_decisions_are_rare():
    """Models that are all alike: a claim that one is above another is not decided."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(40):
        levels = {m: rng.normal(500, 20, 6) for m in ("approx", "exact", "rpp")}
        runs = [
            made(m, s, values[s], task=ACROBOT, variant=x)
            for x in ("repeat_action", "reflect_action")
            for m, values in levels.items()
            for s in SEEDS
        ]
        wrong += judge(runs, ["C3"])[0].verdict != "undecided"
    assert wrong <= 5


def interval(value, half, seeds=5):
    return Measured(value, (value - half, value + half), seeds, STUDENT, freedom=seeds - 1.0)


@pytest.mark.parametrize(
    ("value", "low", "high", "answer"),
    [
        (2.0, 0.0, math.inf, "yes"),
        (0.5, 0.0, math.inf, "open"),
        (-2.0, 0.0, math.inf, "no"),
        (0.0, -1.5, 1.5, "yes"),
        (1.0, -1.5, 1.5, "open"),
        (3.0, -1.5, 1.5, "no"),
        (-3.0, -1.5, 1.5, "no"),
        (-2.0, -math.inf, 0.0, "yes"),
    ],
)
def test_an_answer_is_where_the_interval_lies(value, low, high, answer):
    assert Question("", "", interval(value, 1.0), low, high).answer == answer


def test_p_values_are_005_where_the_interval_touches():
    assert Question("", "", interval(1.0, 1.0)).inside == pytest.approx(0.05)
    assert Question("", "", interval(-1.0, 1.0)).outside == pytest.approx(0.05)
    assert Question("", "", interval(3.0, 1.0), -2.0, 2.0).outside == pytest.approx(0.05)


def test_all_must_hold_and_one_may_fail():
    good, open_, bad = (Question("", "", interval(v, 1.0)) for v in (5.0, 0.0, -5.0))
    assert chances([good, good], True).reproduced == pytest.approx(good.inside)
    assert chances([good, good], False).reproduced == 1
    assert chances([good, open_], True).reproduced == 1
    assert chances([good, bad], True).refuted == pytest.approx(2 * bad.outside)


def test_one_way_is_enough():
    good = Question("", "", interval(5.0, 1.0), way="a")
    bad = Question("", "", interval(-5.0, 1.0), way="b")
    assert chances([good, bad], True).reproduced == pytest.approx(2 * good.inside)
    assert chances([good, bad], True).refuted == 1.0


def test_equal_weights_on_closed_batches():
    holds, numbers = computed.weights_stay_equal()
    assert holds
    assert numbers["spread, closed batches"] < 1e-12
    assert numbers["spread, sampled batches"] > 1e-3  # a test that cannot fail proves nothing


def test_theorem_1():
    holds, numbers = computed.theorem_1()
    assert holds
    assert numbers["counterexample: true gap"] == pytest.approx(9.008, abs=5e-4)
    printed = numbers["counterexample: α with the ρ printed for total variation"]
    assert printed == pytest.approx(0.198, abs=5e-4)


def test_finite_horizon():
    holds, numbers = computed.finite_horizon()
    assert holds
    assert numbers["three steps, reward gap 0.5: true gap"] == pytest.approx(1.5)


def test_a_bound_that_fails_would_be_noticed(monkeypatch):
    monkeypatch.setattr(computed, "gap_bound", lambda *a: _too_small(*a))
    assert not computed.theorem_1()[0]


def _too_small(*problem):
    from dataclasses import replace

    from nearsym.theory.bounds import gap_bound

    found = gap_bound(*problem)
    return replace(found, alpha=found.alpha / 1000)


def test_drift_in_symmetric_worlds_is_told_with_c1():
    (found,) = judge(c7("reproduced"), ["C1"])
    drift = found.more["spread in runs of symmetric worlds"]
    assert drift["cartpole-swingup (laptop, state, sac)"]["value"] == pytest.approx(0.05, abs=1e-3)
    noisy = [replace(run, settings={"task.noise": 0.06}) for run in c7("reproduced")]
    assert "spread in runs of symmetric worlds" not in judge(noisy, ["C1"])[0].more
    assert found.scale == "computed"


def test_unknown_claims():
    with pytest.raises(UsageError, match="Unknown claim 'C99'"):
        judge([], ["C99"])


def test_noise_trained_runs_decide_nothing_else():
    noisy = [made(m, s, 900, settings={"task.noise": 0.06}, task=CARTPOLE, **PIXELS)
             for m in ("none", "exact") for s in SEEDS]  # fmt: skip
    clean = world("reproduced", {"none": 50, "exact": 90, "approx": 90}, task=CARTPOLE, **PIXELS)
    (found,) = judge([*clean, *noisy], ["C2"])
    assert all(question.measured.value > 30 for question in found.questions)


def test_runs_trained_with_noise_decide_one_claim_alone():
    noisy = c18("reproduced")
    decided = {found.claim.id for found in judge(noisy, compute=False) if found.questions}
    assert decided == {"C18"}
    usual = [replace(run, settings={}) for run in noisy]
    assert {"C14", "C17"} <= {found.claim.id for found in judge(usual) if found.questions}


@pytest.mark.parametrize(("name", "recipe"), [("C17", c17), ("C18", c18)])
def test_runs_that_were_not_tested_take_nothing_from_the_others(name, recipe):
    runs = recipe("reproduced")
    more = [replace(run, seed=9, evaluations={}, key=run.key[::-1]) for run in runs if not run.seed]
    assert judge([*runs, *more], [name])[0].verdict == "reproduced"
    untested = [
        replace(run, evaluations={}) if (run.model, run.seed) == ("approx", 5) else run
        for run in runs
    ]
    (found,) = judge(untested, [name])
    assert (found.verdict, found.seeds) == ("reproduced", 5)


@pytest.mark.parametrize(
    ("name", "recipe"), [("C17", c17), ("C18", c18), ("C22", c22), ("C23", c23)]
)
def test_what_was_stopped_early_decides_nothing(name, recipe):
    def stopped(run):
        worse = {"clean": [900.0], "noise=0.06": [1e6 if run.model == "none" else 0.0]}
        about = {"seed": 9, "frames": [10], "returns": [[0.0]], "key": run.key[::-1]}
        return replace(run, **about, evaluations=worse)

    runs = recipe("reproduced")
    if name == "C23":
        runs = [replace(run, frames=[100], returns=[[1.0]]) for run in runs]
    more = [stopped(run) for run in runs if run.seed == 0]
    assert judge([*runs, *more], [name])[0].questions == judge(runs, [name])[0].questions


def test_tau_is_swept_up_to_the_same_frame():
    runs = [
        replace(run, frames=[*run.frames, 900], returns=[*run.returns, [9999.0]])
        if run.model == "approx" and run.settings.get("algorithm.target_tau") == 0.02
        else run
        for run in c19("reproduced")
    ]
    assert judge(runs, ["C19"])[0].verdict == "reproduced"


def test_the_range_over_tau_is_that_of_seeds_with_every_tau():
    runs = c19("reproduced")
    lacking = [r for r in runs if r.seed != SEEDS[-1] or not r.settings]
    (found,) = judge(lacking, ["C19"])
    assert found.seeds == len(SEEDS) - 1


def test_an_unpaired_seed_does_not_change_what_a_row_compares():
    played = {"clean": [900.0]}
    levels = {"exact": 900, "approx": 600, "none": 600}
    runs = world("reproduced", levels, task=REACHER)
    runs = [replace(run, evaluations={"clean": run.returns[-1]}) for run in runs]
    for more in (
        [made("exact", 9, 900, task=REACHER, evaluations=played)],  # nobody has its seed
        [made(m, 9, task=REACHER, curve=[1.0], evaluations=played) for m in levels],  # too short
    ):
        (found,) = judge([*runs, *more], ["C15"])
        assert {question.what for question in found.questions} == {
            "exact − approx, best checkpoint",
            "exact − none, best checkpoint",
        }
        assert found.seeds == len(SEEDS)


def test_the_order_of_settings_does_not_matter():
    pairs = [("network.hidden", 9), ("training.batch_size", 8)]
    runs = [
        replace(run, settings=run.settings | dict(pairs[:: 1 if run.model == "exact" else -1]))
        for run in n3("reproduced")
    ]
    assert judge(runs, ["N3"])[0].verdict == "reproduced"


def test_a_short_run_of_another_seed_turns_no_verdict():
    levels = {"none": 100, "exact": 100, "approx": 900}
    runs = world("reproduced", levels, task=REACHER, variant="reflect_action")
    # At first approx was behind.
    runs = [replace(r, returns=[[1000.0 - r.curve()[-1]], *r.returns[1:]]) for r in runs]
    short = [
        made(m, 99, curve=[9.0], task=REACHER, variant="reflect_action")
        for m in ("none", "exact", "approx")
    ]
    for more in (short[:2], short):
        assert judge([*runs, *more], ["C16"])[0].verdict == "reproduced"


def test_the_margin_of_a_row_is_of_what_is_compared():
    """Best checkpoints of some models are no measure for the ends of training."""
    tested = world("reproduced", {"exact": 100}, task=REACHER, evaluations={"clean": [1000.0]})
    others = world("reproduced", {"none": 130, "approx": 100}, task=REACHER)
    (found,) = judge([*tested, *others], ["C15"])
    assert found.verdict == "refuted"
    lowest = {question.what: question.low for question in found.questions}
    assert lowest["exact − none, last three evaluations"] == pytest.approx(-6.5, abs=0.1)


def flat(model, seed, level, task=REACHER, **more):
    return made(model, seed, curve=[1.0, *[level + 0.1 * seed] * 3], task=task, **more)


def test_seeds_without_a_partner_decide_no_margin():
    levels = {"exact": 100, "none": 110, "approx": 90}
    runs = [flat(model, seed, level) for model, level in levels.items() for seed in SEEDS]
    more = [flat("none", 10 + i, 900) for i in range(4)]
    for some in (runs, [*runs, *more]):
        assert judge(some, ["C15"])[0].verdict == "refuted"


def test_a_checkpoint_that_one_model_alone_has_played_decides_no_margin():
    levels = {"exact": 94, "none": 94, "approx": 100}
    runs = [
        flat(model, seed, level, CARTPOLE, evaluations={"clean": [level + 0.1 * seed]})
        for model, level in levels.items()
        for seed in SEEDS
    ]
    more = [flat(m, 9, level, CARTPOLE) for m, level in levels.items()]
    for played in (100.0, 9000.0):
        alone = replace(more[-1], evaluations={"clean": [played]})
        assert judge([*runs, *more[:-1], alone], ["C11"])[0].verdict == "refuted"


def test_longer_runs_without_a_partner_make_no_others_too_short():
    runs = world("reproduced", {"exact": 900, "approx": 600, "none": 600}, task=REACHER)
    longer = [made("none", 20 + i, curve=[600] * 20, task=REACHER) for i in range(7)]
    (found,) = judge([*runs, *longer], ["C15"])
    assert (found.verdict, found.missing) == ("reproduced", ())


@pytest.mark.parametrize("name", ["C5", "C6"])
def test_margins_are_of_the_frames_that_are_compared(name):
    """One model was trained longer, and its end is ten times as high."""
    places = originals() if name == "C6" else c5_places()
    runs = [
        run
        for task, variant in places
        for seed in SEEDS
        for run in (
            made("exact", seed, curve=[1, *[100] * 3, *[1000] * 3], task=task, variant=variant),
            *(flat(m, seed, 80, task, variant=variant) for m in ("none", "approx", "rpp")),
        )
    ]
    assert judge(runs, [name])[0].verdict == "refuted"


@pytest.mark.parametrize(
    "change",
    [
        lambda run: replace(run, frames=[*run.frames, 900], returns=[*run.returns, [9.0]]),
        lambda run: replace(run, evaluations={}),
    ],
    ids=["trained longer", "not tested"],
)
def test_one_odd_run_takes_no_tests_from_the_others(change):
    runs = world("reproduced", {"exact": 900, "approx": 600, "none": 600}, task=REACHER)
    runs = [replace(run, evaluations={"clean": run.returns[-1]}) for run in runs]
    odd = [change(r) if (r.model, r.seed) == ("exact", 5) else r for r in runs]
    (found,) = judge(odd, ["C15"])
    assert {question.what.split(", ")[1] for question in found.questions} == {"best checkpoint"}
    assert found.seeds == len(SEEDS) - 1


def test_the_audit_is_judged_up_to_the_same_frame():
    runs = [
        replace(run, frames=[*run.frames, 700], returns=[*run.returns, [9999.0]])
        if run.model == "exact" and run.variant == "tilt=90"
        else run
        for run in n2("reproduced")
    ]
    assert judge(runs, ["N2"])[0].verdict == "reproduced"


def test_times_on_the_hardware_that_has_pairs():
    one, other = ({"processor": name, "precision": "fp32"} for name in ("a", "b"))
    paired = [replace(run, versions=one) for run in c20("reproduced")]
    more = [
        replace(paired[0], model=model, seed=seed, versions=other, seconds=1.0)
        for model, seeds in {
            "none": range(20, 40),
            "exact": range(10, 15),
            "approx": (10, 11),
        }.items()
        for seed in seeds
    ]
    assert judge([*paired, *more], ["C20"])[0].verdict == "reproduced"


def test_the_time_to_a_return_is_of_runs_of_one_length():
    runs = c20("reproduced")
    longer = [
        replace(r, seed=r.seed + 10, frames=[*r.frames, 900], returns=[*r.returns, [9999.0]])
        for r in runs
        if r.model == "exact" and r.seed < 5
    ]
    names = [f"{CARTPOLE} original"]
    for some in (runs, [*runs, *longer]):
        (found,) = judge(some, ["C20"])
        assert all(found.more["seconds_to_return"][name]["none"] for name in names)


def test_sizes_of_untrained_networks_say_nothing_about_time():
    sizes = [replace(run, frames=[], returns=[]) for run in c20("reproduced")]
    assert judge(sizes, ["C20"])[0].verdict == "not run"


def test_regret_in_tables_is_that_of_the_claim_without_noise_in_training():
    runs = n1("reproduced")
    noisy = [
        replace(r, settings={"task.noise": 0.06}, returns=[[5.0 + r.seed]] * 6)
        for r in runs
        if r.variant is None
    ]
    found = regret_of([*runs, *noisy])
    assert len(found.worlds) == 3
    assert found.worst("approx") == regret_of(runs).worst("approx")


def test_both_symmetric_models_are_timed():
    runs = [run for run in c20("reproduced") if run.model != "exact"]
    (found,) = judge(runs, ["C20"])
    assert found.verdict == "undecided"
    assert found.missing == (f"{CARTPOLE} original: exact − none, seconds per frame",)


def test_times_on_other_hardware_are_not_compared():
    """Runs of the same seeds, some of them on a faster machine."""
    slow, fast = ({"processor": name, "precision": "fp32"} for name in ("slow", "fast"))
    runs = [
        replace(run, versions=fast, seconds=1.0)
        if run.model != "none" and run.seed > 3
        else replace(run, versions=slow)
        for run in c20("reproduced")
    ]
    (found,) = judge(runs, ["C20"])
    assert (found.verdict, found.seeds) == ("reproduced", 4)
    assert all(question.measured.value > 0.5 for question in found.questions)


def test_shares_under_different_noise_are_not_compared():
    runs = [
        replace(r, evaluations={"clean": [900.0], "noise=0.5": [*r.evaluations.values()][1]})
        if r.model == "approx"
        else r
        for r in c17("reproduced")
    ]
    assert judge(runs, ["C17"])[0].verdict == "not run"


def test_weights_are_compared_with_equal_settings():
    held = {"settings": {"network.relaxed_rate": 9.0}}
    runs = [replace(run, **held) if run.variant else run for run in c8("reproduced")]
    assert judge(runs, ["C8"])[0].verdict == "not run"


def test_weights_are_compared_up_to_the_same_frame():
    runs = [
        replace(run, frames=[9], returns=[[0.0]]) if run.variant is None else run
        for run in c8("reproduced")
    ]
    assert judge(runs, ["C8"])[0].verdict == "not run"


def test_portfolios_are_compared_after_training_as_long():
    runs = [replace(r, frames=r.frames[:-1], returns=r.returns[:-1]) if r.model == "none" else r
            for r in c22("reproduced")]  # fmt: skip
    assert judge(runs, ["C22"])[0].verdict == "not run"


def test_a_treatment_is_compared_with_runs_that_differ_in_nothing_else():
    runs = [
        replace(run, settings=run.settings | {"network.hidden": 9}) if run.settings else run
        for run in n3("reproduced")
    ]
    assert judge(runs, ["N3"])[0].verdict == "not run"


def test_other_settings_decide_nothing_about_the_last_day():
    other = {"algorithm.learning_rate": 0.1}
    more = [replace(run, settings=run.settings | other) for run in c23("refuted")]
    (found,) = judge([*c23("reproduced"), *more], ["C23"])
    assert found.verdict == "reproduced"
    assert found.more["rank of the last day"]["approx T"] == [1] * 6


def test_means_over_seeds_are_what_is_asked_of():
    (found,) = judge(c23("reproduced"), ["C23"])
    days = [np.array(run.relaxed["encoder.layers.0"][0][0]) for run in c23("reproduced")[:6]]
    by_hand = mean_over_seeds({i: d[-1] - d[:-1].max() for i, d in enumerate(days)})
    assert found.questions[0].measured == by_hand
    assert found.more["rank of the last day"]["approx T"] == [1] * 6
