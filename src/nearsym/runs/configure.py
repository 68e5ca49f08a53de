"""From what somebody asked for to the whole configuration of a run."""

from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

import torch

from nearsym.errors import UsageError, shown
from nearsym.networks.config import OF_ONE_MODEL, NetworkConfig
from nearsym.networks.kit import PLAIN
from nearsym.runs.build import check_reads, resolve_precision
from nearsym.runs.config import ALGORITHMS, RunConfig, with_settings, with_values
from nearsym.runs.presets import DEFAULT_PRESET, preset_config
from nearsym.tasks.custom import Factory, closed_if_refused
from nearsym.tasks.registry import KINDS, find_task, is_task, options_of
from nearsym.tasks.task import Task, Traits
from nearsym.training.config import TrainingConfig

SETTINGS = {
    "algorithm": [f.name for kind in ALGORITHMS.values() for f in fields(kind)],
    "network": [f.name for f in fields(NetworkConfig)],
    "training": [f.name for f in fields(TrainingConfig)],
}
"""The names of all settings, by section."""


def configure(
    task: str | Factory | Task,
    *,
    model: str | None = None,
    agent: str | None = None,
    preset: str = DEFAULT_PRESET,
    frames: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    precision: str = "auto",
    device: str = "cpu",
    compile: bool = False,
    algorithm: Mapping[str, Any] | None = None,
    network: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    **options: Any,
) -> RunConfig:
    """The configuration of a run: what was given, and the preset for everything else.

    `options` are those of the task; `algorithm`, `network` and `training` hold single settings of
    these sections. Options that are None count as not given.

    >>> configure("cartpole-swingup", obs="state", preset="smoke", network={"hidden": 8}).agent
    'sac'
    """
    words = {"model": model, "agent": agent, "preset": preset}
    _check_words(**words, precision=precision, device=device)
    _check_sections(algorithm=algorithm, network=network, training=training)
    _refuse_settings(options)
    given = {name: value for name, value in options.items() if value is not None}
    found = find_task(task, **given).suited_to(agent)
    found.check_given(given)
    given = {name: getattr(found, name) for name in [*given, *_changed(task)]}
    with closed_if_refused(found):
        traits = found.traits()
        agent = ("drqv2" if traits.images else "sac") if agent is None else agent
        check_reads(agent, images=traits.images)
        model = ("approx" if traits.symmetric else "none") if model is None else model
        config = preset_config(preset, found, agent, model)
        config = with_settings(config, "task", given)
        config = with_settings(config, "algorithm", {} if algorithm is None else algorithm)
        config = with_settings(config, "network", {} if network is None else network)
        length = {} if frames is None else {"frames": frames}
        config = with_settings(config, "training", length | dict(training or {}))
        check_network(config, () if network is None else network, traits)
        if compile and not traits.images:
            raise UsageError(
                f"`compile` is about encoders of images, and {config.task.name} shows vectors: "
                "there it makes updates slower. Leave it away."
            )
        return with_values(
            config,
            seed=seed,
            threads=torch.get_num_threads() if threads is None else threads,
            precision=_precision(precision, config, device),
            device=device,
            compile=compile,
        )


def _check_words(**words: Any) -> None:
    """Refuse what is no text where a name is expected: it may come from a file."""
    for name, word in words.items():
        if not isinstance(word, str | None):
            raise UsageError(f"`{name}` must be text, got {shown(word)}.")


def _check_sections(**sections: Any) -> None:
    for name, settings in sections.items():
        if not isinstance(settings, Mapping | None):
            example = f"{name}={{{SETTINGS[name][0]!r}: …}}"
            raise UsageError(f"`{name}` takes a dict, as in {example}; got {shown(settings)}.")


def _refuse_settings(options: Mapping[str, Any]) -> None:
    """A setting of a section is no option of a task."""
    of_tasks = {name for kind in KINDS.values() for name in options_of(kind)}
    for section, names in SETTINGS.items():
        for name in (name for name in options if name in names and name not in of_tasks):
            raise UsageError(f"{name} is a setting of {section}: give {section}={{{name!r}: …}}.")


def _changed(task: Any) -> list[str]:
    """The options that a task which is a value already was given."""
    if not is_task(task):
        return []
    known = options_of(type(task))
    return [f.name for f in fields(task) if f.name in known and getattr(task, f.name) != f.default]


def check_network(config: RunConfig, given: Collection[str], traits: Traits) -> None:
    """Refuse what would otherwise be ignored without a word."""
    model, steerable = config.network.model, config.network.layers == "steerable"
    for name, owner in OF_ONE_MODEL.items():
        if name in given and model != owner:
            raise UsageError(f"`{name}` belongs to the model {owner}, not to {model}.")
    if steerable and model in PLAIN:
        raise UsageError(f"`layers='steerable'` needs a group; the model {model} has none.")
    if steerable and "relax" in given:
        raise UsageError("`relax` is about group layers; steerable ones are relaxed in one way.")
    if traits.time and (steerable or "relax" in given):
        raise UsageError(
            f"`layers` and `relax` are about groups of images; {config.task.name} has none."
        )


def _precision(precision: str, config: RunConfig, device: str) -> str:
    if precision == "auto" and not processor_decides(config):
        return "fp32"
    return resolve_precision(precision, device)


def processor_decides(config: RunConfig) -> bool:
    """Whether `auto` leaves the precision to the hardware: not where rounding would lose something,
    nor where the paper's settings are asked for."""
    return not config.task.rounds_away and config.preset != "paper"
