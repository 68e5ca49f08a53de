"""Numbers of a configuration out of their range, from a file, from Python and from flags."""

import copy
import json
import math
from dataclasses import fields, replace

import pytest

import nearsym
from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError, check_range, shown
from nearsym.networks.config import NetworkConfig
from nearsym.runs.build import build_agent
from nearsym.runs.config import from_plain, to_plain
from nearsym.runs.configure import configure
from nearsym.runs.limits import LIMITS, check_memory
from nearsym.training.config import LIMITS as TRAINING
from nearsym.training.config import TrainingConfig

NUMBERS = ("int", "float", "int | None", "float | None", "tuple[float, float]")
PLAIN = to_plain(configure("craft", preset="smoke"))


@pytest.mark.parametrize("section", ["algorithm", "network"])
def test_every_number_has_limits(section):
    kinds = {"algorithm": (DrQV2Config, SACConfig), "network": (NetworkConfig,)}[section]
    for kind in kinds:
        named = {f.name for f in fields(kind) if _is_number(f.type)}
        assert named <= set(LIMITS[section])


def test_every_number_of_the_training_has_limits():
    assert {f.name for f in fields(TrainingConfig) if _is_number(f.type)} == set(TRAINING)


def _is_number(hint):
    return getattr(hint, "__name__", str(hint)) in NUMBERS or str(hint) in NUMBERS


def with_value(name, value):
    plain = copy.deepcopy(PLAIN)
    *sections, last = name.split(".")
    place = plain
    for section in sections:
        place = place[section]
    place[last] = value
    return plain


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", -1),
        ("seed", 2**70),
        ("threads", 0),
        ("threads", 100_000),
        ("device", "os"),
        ("device", "cuda:99999999999999999999"),
        ("precision", "fp8"),
        ("preset", "mine"),
        ("algorithm.learning_rate", math.inf),
        ("algorithm.learning_rate", math.nan),
        ("algorithm.learning_rate", -1.0),
        ("algorithm.random_steps", 10**20),
        ("algorithm.temperature", math.inf),
        ("network.filters", 100_000_000),
        ("network.hidden", 0),
        ("network.actor_depth", -1),
        ("network.critic_depth", 10**6),
        ("network.rpp_actor", [math.inf, 0.0]),
        ("network.waist", -3),
        ("training.frames", 10**20),
        ("training.discount", math.nan),
        ("training.discount", 1.5),
        ("training.seed_frames", -1),
        ("training.batch_size", 10**9),
        ("training.replay_capacity", 10**15),
        ("training.eval_episodes", 10**10),
    ],
)
def test_a_file_with_a_number_out_of_range(name, value):
    with pytest.raises(UsageError) as error:
        from_plain(with_value(name, value))
    assert name.rpartition(".")[2] in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PLAIN).replace('"seed": 0', '"seed": ' + "9" * 5000),
        json.dumps(PLAIN).replace('"seed": 0', '"seed": ' + "[" * 100_000),
        json.dumps(PLAIN).replace('"seed": 0', '"seed": ' + "[" * 900 + "]" * 900),
        json.dumps(PLAIN).replace('"seed": 0', '"seed": "' + "x" * 100_000 + '"'),
        json.dumps(PLAIN).replace('"seed": 0', '"seed": 1e999'),
        "[" * 100_000,
        "9" * 5000,
    ],
    ids=["digits", "nested", "closed", "long", "infinite", "nothing but nested", "only digits"],
)
def test_a_file_that_no_parser_likes(text, tmp_path):
    (tmp_path / "config.json").write_text('{"config": ' + text + "}")
    with pytest.raises(UsageError) as error:
        nearsym.Run(tmp_path)
    assert len(str(error.value)) < 500
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "options",
    [
        {"frames": 10**5000},
        {"seed": 10**5000},
        {"threads": 10**9},
        {"algorithm": {"learning_rate": math.inf}},
        {"network": {"hidden": 10**30}},
        {"training": {"batch_size": -(10**20)}},
        {"device": "disk"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_numbers_out_of_range_from_python(options, tmp_path):
    with pytest.raises(UsageError) as error:
        nearsym.train("craft", preset="smoke", out=tmp_path / "run", **options)
    assert len(str(error.value)) < 300
    assert not (tmp_path / "run").exists()


def test_networks_that_do_not_fit_are_refused_before_they_are_built(monkeypatch):
    monkeypatch.setattr("nearsym.runs.limits.machine_memory", lambda: 16e9)
    config = configure("craft", preset="smoke")
    large = replace(config.network, hidden=65_536, actor_depth=10)
    with pytest.raises(UsageError, match=r"would take about [\d,]+ GB, more than this machine has"):
        build_agent(replace(config, network=large), config.task.make())
    check_memory(config.network)


@pytest.mark.parametrize("value", [math.nan, "5", None, 1j, [3]])
def test_what_is_no_number_is_out_of_every_range(value):
    with pytest.raises(UsageError, match="`x` must be a number from 0 to 1, got "):
        check_range("x", value, 0, 1)


def test_a_value_is_shown_in_a_line():
    assert shown(10**100).endswith("…")
    assert len(shown("a" * 10**6)) == 60
    assert shown(3) == "3"
