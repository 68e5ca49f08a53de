"""Configurations go through JSON and back, and say what is wrong with them."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError
from nearsym.runs.config import RunConfig, TaskConfig, from_plain, to_plain
from nearsym.networks.build import NetworkConfig
from nearsym.networks.kit import MODELS
from nearsym.training.config import TrainingConfig

whole = st.integers(1, 10**6)
share = st.floats(1e-6, 1.0)
maybe_text = st.none() | st.text(max_size=8)
tasks = st.builds(
    TaskConfig,
    name=st.text(max_size=12),
    variant=maybe_text,
    obs=st.sampled_from([None, "pixels", "state"]),
    size=whole,
    noise=st.floats(0, 1),
    background=st.booleans(),
    data=maybe_text,
)
networks = st.builds(
    NetworkConfig,
    model=st.sampled_from(MODELS),
    filters=whole,
    waist=st.none() | whole,
    rpp_actor=st.tuples(share, share),
)
trainings = st.builds(TrainingConfig, frames=whole, discount=share, replay_capacity=whole)
drqv2 = st.builds(DrQV2Config, learning_rate=share, target_tau=share, std_steps=whole)
sac = st.builds(SACConfig, temperature=share, learn_temperature=st.booleans())


@st.composite
def configs(draw):
    agent = draw(st.sampled_from(["drqv2", "sac"]))
    return RunConfig(
        task=draw(tasks),
        agent=agent,
        algorithm=draw(drqv2 if agent == "drqv2" else sac),
        network=draw(networks),
        training=draw(trainings),
        seed=draw(st.integers(0, 2**40)),
        threads=draw(st.integers(1, 64)),
        precision=draw(st.sampled_from(["fp32", "bf16"])),
    )


@given(configs())
def test_round_trip(config):
    text = json.dumps(to_plain(config))
    assert from_plain(json.loads(text)) == config


def plain(agent="drqv2"):
    algorithm = {"drqv2": DrQV2Config, "sac": SACConfig}[agent]()
    return to_plain(RunConfig(task=TaskConfig(name="x"), agent=agent, algorithm=algorithm))


def changed(path, value):
    config = copy.deepcopy(plain())
    *parents, last = path.split(".")
    inner = config
    for name in parents:
        inner = inner[name]
    inner[last] = value
    return config


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("tsk", {}, r"config has an unknown entry 'tsk'"),
        ("task.colour", "red", r"config\.task has an unknown entry 'colour'"),
        ("algorithm.temperature", 1.0, r"config\.algorithm has an unknown entry 'temperature'"),
        ("seed", "0", r"config\.seed must be int, got '0'"),
        ("threads", True, r"config\.threads must be int, got True"),
        ("training.frames", 1.5, r"config\.training\.frames must be int, got 1\.5"),
        ("training.discount", "high", r"config\.training\.discount must be float, got 'high'"),
        ("network.waist", "no", r"config\.network\.waist must be int \| None, got 'no'"),
        ("network.rpp_actor", 5, r"config\.network\.rpp_actor must be a list of 2, got 5"),
        ("network.rpp_actor", [1.0], r"config\.network\.rpp_actor must be a list of 2"),
        ("network.rpp_actor", [1.0, "a"], r"config\.network\.rpp_actor must be float, got 'a'"),
        ("network", None, r"config\.network must be an object, got NoneType"),
        ("network.model", "aprox", "Did you mean 'approx'"),
        ("algorithm.target_tau", 5.0, r"`target_tau` must lie in \(0, 1\], got 5"),
        ("agent", "drqv3", "Did you mean 'drqv2'"),
        ("threads", 0, "threads must lie between 1 and 1024, got 0"),
        ("seed", -1, "seed must not be negative, got -1"),
        ("precision", "fp16", "Unknown precision 'fp16'"),
    ],
)
def test_what_is_wrong_is_named(path, value, text):
    with pytest.raises(UsageError, match=text):
        from_plain(changed(path, value))


@pytest.mark.parametrize(("parent", "entry"), [("", "task"), ("task", "name")])
def test_a_missing_entry_is_named(parent, entry):
    config = plain()
    del (config[parent] if parent else config)[entry]
    with pytest.raises(UsageError, match=f"is incomplete: .*'{entry}'"):
        from_plain(config)


@pytest.mark.parametrize("nonsense", [[], "text", None, 3])
def test_something_else_than_an_object(nonsense):
    with pytest.raises(UsageError, match="config must be an object"):
        from_plain(nonsense)


def test_whole_numbers_may_stand_for_real_ones():
    assert from_plain(changed("task.noise", 0)).task.noise == 0


def test_an_agent_takes_its_own_settings():
    with pytest.raises(UsageError, match="The agent sac takes a SACConfig"):
        RunConfig(task=TaskConfig(name="x"), agent="sac", algorithm=DrQV2Config())
