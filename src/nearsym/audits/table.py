"""The result of an audit as a few lines for people to read."""

from typing import Any

LAYERS_SHOWN = 40
SUBGROUPS_SHOWN = 6
EVIDENCE = "docs/evidence.md"
"""The results behind it, in the repository."""
_NUMBERS = f"{'mean':>9}  {'95 % interval':<21} {'q95':>9} {'largest seen':>13}"


def audit_table(result: dict[str, Any]) -> str:
    """Verdict, one row for each element, the regions, and for runs the agent's numbers.

    `result` is what `as_json` of an audit gives. `task` or `run`, `variant` and `action_repeat`, if
    a caller adds them, go into the first line.
    """
    lines = [_title(result), _verdict(result), ""]
    lines += _rows(result)
    lines += _regions(result)
    lines += _starts(result)
    if "q_gap" in result:
        lines += _agent(result)
    lines += [f"Note: {note}" for note in result.get("notes", ())]
    lines += _recommendation(result)
    return "\n".join(lines)


def _recommendation(result: dict[str, Any]) -> list[str]:
    """The last line of an audit of an environment."""
    if "recommendation" not in result or "q_gap" in result:
        return []
    model, reason = result["recommendation"]["model"], result["recommendation"]["reason"]
    if model is None:
        return [reason]
    return [f"Recommended model: {model}. {reason} This rule rests on {EVIDENCE}."]


def _title(result: dict[str, Any]) -> str:
    what = result.get("run", result.get("task"))
    named = " ".join(str(part) for part in (what, result.get("variant")) if part)
    subject = ", ".join(part for part in (named, result.get("group")) if part)
    episodes = f" from {result['episodes']} episodes" if "episodes" in result else ""
    kind = f", {result['dynamics']}" if "dynamics" in result else ""
    repeat = result.get("action_repeat", 1)
    steps = "steps" if repeat == 1 else f"agent steps ({repeat} environment steps each)"
    pairs = "" if "missing" in result else "pairs of "  # nearest steps of rollouts are no pairs
    count = f"{result['samples']} {pairs}{steps}{episodes}{kind}"
    return f"{subject}: {count}" if subject else count


def _verdict(result: dict[str, Any]) -> str:
    if result["verdict"] is None:
        return result["reason"]
    return f"Verdict: {result['verdict']}. {result['reason']}"


def _rows(result: dict[str, Any]) -> list[str]:
    rows = []
    for element in result["elements"]:
        name = element["name"]
        for label, key in (("ε_R", "eps_r"), ("ε_P", "eps_p"), ("steps", "eps_p_relative")):
            if element.get(key) is not None:
                rows.append(f"{name:<10} {label:<5} {_numbers(element[key])}")
                name = ""
        if "floor_p" in element:
            share = f"{element['compared']:.0%} of the steps have a near mirrored one"
            rows.append(f"{name:<10} {share}")
        for label in ("r", "p"):
            if element.get(f"floor_{label}") is not None:
                floor = element[f"floor_{label}"]
                rows.append(f"{'':<10} floor {_numbers(floor)}  (of ε_{label.upper()})")
    if not rows:  # pictures from rollouts: nothing could be compared
        return []
    rows.insert(0, f"{'element':<10} {'':<5} {_NUMBERS}")
    if any("eps_p_relative" in element for element in result["elements"]):
        rows.append("ε_P is in the state's own units; steps: scaled, in mean steps of the state.")
    if result.get("dynamics") == "stochastic":
        rows.append("Random dynamics: means are from below, intervals reach the one from above.")
    return [*rows, ""]


def _numbers(values: dict[str, Any]) -> str:
    interval = values.get("mean_ci95")
    between = "" if interval is None else f"[{interval[0]:.3g}, {interval[1]:.3g}]"
    return f"{values['mean']:>9.3g}  {between:<21} {values['q95']:>9.3g} {values['largest']:>13.3g}"


def _regions(result: dict[str, Any]) -> list[str]:
    lines = []
    for element in result["elements"]:
        for region in element["regions"]:
            ranges = ", ".join(
                f"{b['low']:.3g} ≤ {b['coordinate']} ≤ {b['high']:.3g}" for b in region["bounds"]
            )
            lines.append(f"  {element['name']}: {ranges or 'everywhere'}  ({region['share']:.1%})")
    return ["Broken where (share of the samples):", *lines, ""] if lines else []


def _starts(result: dict[str, Any]) -> list[str]:
    uneven = result.get("declaration", {}).get("asymmetric_starts", ())
    if not uneven:
        return []
    said = ", ".join(f"{found['coordinate']} under {found['element']}" for found in uneven)
    return [f"Initial states are not symmetric: {said}.", ""]


def _agent(result: dict[str, Any]) -> list[str]:
    lines = [f"{'element':<10} {'':<28} {_NUMBERS}"]
    for element in result["elements"]:
        entries = [("policy", element["policy"]), ("critic", element["critic"])]
        entries += list(element["layers"].items())[:LAYERS_SHOWN]
        for i, (label, values) in enumerate(entries):
            name = element["name"] if i == 0 else ""
            lines.append(f"{name:<10} {label:<28} {_numbers(values)}")
    floors = result["floors"]
    lines += ["policy: action units; critic: value units; layers: relative to their output."]
    lines += [f"Rounding: policy {floors['policy']:.1e}, critic {floors['critic']:.1e}.", ""]
    if result["relaxed"]:
        lines.append("Relaxed weights (smallest, largest, spread over the elements):")
        lines += [
            f"  {name:<28} {w['smallest']:.3f} {w['largest']:.3f} {w['spread']:.3f}"
            for name, w in result["relaxed"].items()
        ]
        lines.append("")
    lines += _left(result["left"])
    gap, bound = result["q_gap"], result["alpha"]
    seen = f"Q gap |Q(s,a) − Q(gs,ga)|: mean {gap['mean']:.3g}, largest seen {gap['largest']:.3g}"
    if bound is None:
        return [*lines, f"{seen}; no α, which needs steps from s and g·s.", ""]
    lines.append(
        f"{seen}; α = {bound['value']:.3g} from ε_R {bound['eps_r']:.3g}, ε_P "
        f"{bound['eps_p']:.3g} and a critic slope of {bound['lipschitz']:.3g}."
    )
    return [*lines, bound["note"], ""]


def _left(left: dict[str, Any]) -> list[str]:
    """Subgroups by what their cosets explain of the relaxed weights' spread, the best first."""
    if not left["subgroups"]:
        return []
    lines = [
        "What is left of the symmetry, as one run shows it (a description, no test):",
        f"  {'subgroup':<36} {'share':>6} {'chance':>7} {'policy error inside, outside':>30}",
    ]
    for k in left["subgroups"][:SUBGROUPS_SHOWN]:
        errors = f"{k['policy_inside']:.3g}, {k['policy_outside']:.3g}"
        lines.append(f"  {k['name']:<36} {k['share']:>6.2f} {k['by_chance']:>7.2f} {errors:>30}")
    if left["plausible"] is None:
        return [*lines, "  No subgroup stands out: the spread has no order.", ""]
    agrees = "agree" if left["policy_agrees"] else "do not agree"
    named = ", ".join(left["plausible"])
    return [*lines, f"  Most plausible: {{{named}}}; the policy's errors {agrees}.", ""]
