"""Configurations go through JSON and back, and say what is wrong with them."""

import copy
import json
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.agents.drqv2 import DrQV2Config
from nearsym.agents.sac import SACConfig
from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.config import NetworkConfig
from nearsym.networks.kit import MODELS
from nearsym.runs.config import RunConfig, from_plain, to_plain, with_settings, with_values
from nearsym.runs.identity import digest
from nearsym.runs.presets import PRESETS, preset_config
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.task import ControlTask
from nearsym.tasks.control.variants import VARIANTS
from nearsym.tasks.craft.task import CraftTask
from nearsym.tasks.custom import CustomTask
from nearsym.tasks.registry import KINDS, find_task
from nearsym.tasks.robots.domains import DOMAINS as ROBOTS
from nearsym.tasks.robots.task import RobotTask
from nearsym.tasks.trading.task import TradingTask
from nearsym.training.config import TrainingConfig

MIRROR = dihedral(1)
SYMMETRIES = {
    "vectors": Symmetry(2 * MIRROR.sign() + MIRROR.trivial(), MIRROR.sign()),
    "images": Symmetry(ImageAction(MIRROR, -3, -2), MIRROR.sign()),
}
FAMILIES = {
    "craft": {"variant": "tilt=75", "obs": "state"},
    "control": {"name": "reacher-hard", "variant": "wear=0.25", "obs": "state"},
    "trading": {"symmetry": "ST", "episode_days": 9},
    "robot": {"name": "walker2d", "variant": "wear=0.2"},
    "custom": {"name": "a_module:make", "symmetry": SYMMETRIES["vectors"]},
}

whole = st.integers(1, 10**6)
share = st.floats(1e-6, 1.0)
maybe_text = st.none() | st.text(max_size=8)
control = st.builds(
    ControlTask,
    name=st.sampled_from(sorted(DOMAINS)),
    variant=st.none() | st.sampled_from(VARIANTS),
    obs=st.sampled_from([None, "pixels", "state"]),
    size=whole,
    noise=st.floats(0, 1),
    background=st.booleans(),
)
craft = st.builds(
    CraftTask,
    variant=st.none() | st.sampled_from(["tilt=30", "original"]),
    obs=st.sampled_from([None, "pixels", "state"]),
    frame_stack=whole,
)
robot = st.builds(
    RobotTask,
    name=st.sampled_from(sorted(ROBOTS)),
    variant=st.none() | st.sampled_from(["wear", "wear=0.3", "original"]),
)
trading = st.builds(
    TradingTask,
    symmetry=st.sampled_from([None, "T", "ST"]),
    data=maybe_text,
    split=maybe_text,
    reward_scale=share,
    episode_days=st.none() | whole,
    foresight=st.booleans(),
)
custom = st.builds(
    CustomTask,
    name=st.text(max_size=12),
    symmetry=st.sampled_from([None, *SYMMETRIES.values()]),
)
networks = st.builds(
    NetworkConfig,
    model=st.sampled_from(MODELS),
    filters=st.integers(1, 1024),
    waist=st.none() | st.integers(1, 65_536),
    rpp_actor=st.tuples(share, share),
)
trainings = st.builds(TrainingConfig, frames=whole, discount=share, replay_capacity=whole)
drqv2 = st.builds(DrQV2Config, learning_rate=share, target_tau=share, std_steps=whole)
sac = st.builds(SACConfig, temperature=share, learn_temperature=st.booleans())


@st.composite
def configs(draw):
    agent = draw(st.sampled_from(["drqv2", "sac"]))
    return RunConfig(
        task=draw(craft | control | robot | trading | custom),
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


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("family", KINDS)
def test_every_family_survives_json_with_every_agent_preset_and_model(family, preset, model):
    task = KINDS[family](**FAMILIES[family])
    for agent in task.agents:
        config = preset_config(preset, task, agent, model)
        again = from_plain(json.loads(json.dumps(to_plain(config))))
        assert again == config
        assert type(again.task) is KINDS[family]
        assert to_plain(again) == to_plain(config)


@pytest.mark.parametrize("family", KINDS)
def test_a_task_is_saved_with_its_own_entries_and_no_others(family):
    """A tagged union: what only another family has is neither written nor read."""
    hidden = {"factory", "trusted", "_opened"}
    own = {kind: {f.name for f in fields(KINDS[kind])} - hidden for kind in KINDS}
    saved = plain(family=family)
    assert set(saved["task"]) == {"kind"} | own[family]
    assert saved["task"]["kind"] == family
    for other in set(KINDS) - {family}:
        for name in own[other] - own[family] - {"name"}:
            wrong = copy.deepcopy(saved)
            wrong["task"][name] = None
            with pytest.raises(UsageError, match=rf"config\.task has an unknown entry '{name}'"):
                from_plain(wrong)


def plain(agent="sac", family="control"):
    task = KINDS[family](**FAMILIES[family])
    return to_plain(preset_config("smoke", task, agent, "approx"))


def changed(path, value):
    config = copy.deepcopy(plain("drqv2"))
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
        ("training.frame", 1, r"config\.training has an unknown entry 'frame'"),
        ("seed", "0", r"config\.seed must be int, got '0'"),
        ("seed", 0.0, r"config\.seed must be int, got 0\.0"),
        ("seed", None, r"config\.seed must be int, got None"),
        ("threads", True, r"config\.threads must be int, got True"),
        ("device", 0, r"config\.device must be str, got 0"),
        ("task.size", "37", r"config\.task\.size must be int, got '37'"),
        ("task.background", 1, r"config\.task\.background must be bool, got 1"),
        ("task.noise", True, r"config\.task\.noise must be float, got True"),
        ("task.noise", 10**400, r"config\.task\.noise int too large to convert to float"),
        ("task.variant", 3, r"config\.task\.variant must be str or null, got 3"),
        ("task.obs", ["state"], r"config\.task\.obs must be one of pixels, state, got \['state'\]"),
        ("training.frames", 1.5, r"config\.training\.frames must be int, got 1\.5"),
        ("training.frames", [5], r"config\.training\.frames must be int, got \[5\]"),
        (
            "training.discount",
            "high",
            r"config\.training\.discount must be float or null, got 'high'",
        ),
        ("network.waist", "no", r"config\.network\.waist must be int or null, got 'no'"),
        ("network.waist", True, r"config\.network\.waist must be int or null, got True"),
        ("network.rpp_actor", 5, r"config\.network\.rpp_actor must be a list of 2, got 5"),
        ("network.rpp_actor", [1.0], r"config\.network\.rpp_actor must be a list of 2"),
        ("network.rpp_actor", [1.0, "a"], r"config\.network\.rpp_actor must be float, got 'a'"),
        ("network", None, r"config\.network must be an object, got None"),
        ("training", [], r"config\.training must be an object, got \[\]"),
        ("algorithm", "sac", r"config\.algorithm must be an object, got 'sac'"),
        ("task", "cartpole-swingup", r"config\.task must be an object, got 'cartpole-swingup'"),
        ("task", None, r"config\.task must be an object, got None"),
        ("task.kind", "contrl", r"Unknown config\.task\.kind 'contrl'\. Did you mean 'control'"),
        ("task.kind", ["control"], r"Unknown config\.task\.kind \['control'\]"),
        (
            "task.kind",
            None,
            r"config\.task\.kind is missing: it is one of craft, control, robot, trading",
        ),
        ("task.name", "cartpol-swingup", "Did you mean 'cartpole-swingup'"),
        ("task.variant", "gravty", "Did you mean 'gravity'"),
        ("task.obs", "pixel", r"config\.task\.obs must be one of pixels, state, got 'pixel'"),
        ("network.model", "aprox", "Did you mean 'approx'"),
        ("algorithm.target_tau", 5.0, r"target_tau`? must lie in \(0, 1\], got 5"),
        ("agent", "drqv3", "Did you mean 'drqv2'"),
        ("agent", None, r"config\.agent is missing: it is one of drqv2, sac"),
        ("agent", {}, r"Unknown config\.agent \{\}"),
        ("threads", 0, "`threads` must be at least 1, got 0"),
        ("seed", -1, "`seed` must be at least 0, got -1"),
        ("precision", "fp16", "Unknown precision 'fp16'"),
        ("training.frames", 0, "`frames` must be at least 1, got 0"),
    ],
)
def test_what_is_wrong_is_named(path, value, text):
    with pytest.raises(UsageError, match=text):
        from_plain(changed(path, value))


@pytest.mark.parametrize(
    ("family", "parent", "entry"),
    [
        ("control", "", "task"),
        ("custom", "", "agent"),
        ("control", "", "algorithm"),
        ("trading", "task", "kind"),
        ("control", "task", "name"),
        ("custom", "task", "name"),
    ],
)
def test_a_missing_entry_is_named(family, parent, entry):
    config = plain(family=family)
    del (config[parent] if parent else config)[entry]
    where = ".".join(filter(None, ("config", parent, entry)))
    with pytest.raises(UsageError, match=f"^{re.escape(where)} is missing"):
        from_plain(config)


def test_settings_that_are_newer_than_a_file_have_their_defaults():
    config = plain()
    del config["network"]["window_features"], config["precision"]
    assert from_plain(config) == from_plain(plain())


@pytest.mark.parametrize("nonsense", [[], "text", None, 3])
def test_something_else_than_an_object(nonsense):
    with pytest.raises(UsageError, match="config must be an object"):
        from_plain(nonsense)


def test_whole_numbers_may_stand_for_real_ones():
    read = from_plain(changed("task.noise", 0))
    assert read.task.noise == 0
    assert digest(read) == digest(from_plain(changed("task.noise", 0.0)))


def test_an_agent_takes_its_own_settings():
    task = find_task("cartpole-swingup")
    with pytest.raises(UsageError, match="The agent sac takes a SACConfig"):
        RunConfig(task=task, agent="sac", algorithm=DrQV2Config())


@pytest.mark.parametrize("name", ["factory", "trusted", "_opened"])
def test_a_file_cannot_say_that_it_is_to_be_trusted(name):
    config = plain(family="custom")
    config["task"][name] = True
    with pytest.raises(UsageError, match=f"config.task has an unknown entry '{name}'"):
        from_plain(config)
    assert not from_plain(plain(family="custom")).task.trusted


def test_settings_are_changed_section_by_section():
    config = preset_config("smoke", find_task("cartpole-swingup", obs="state"), "sac", "none")
    other = with_settings(config, "training", {"batch_size": 7, "discount": 1})
    assert (other.training.batch_size, other.training.discount) == (7, 1)
    assert other.network is config.network
    assert with_settings(config, "training", {}) is config
    assert with_settings(config, "task", {"variant": "gravity"}).task.variant == "gravity"
    assert with_values(config, seed=3, device="cuda").seed == 3


@pytest.mark.parametrize(
    ("section", "values", "text"),
    [
        ("training", {"batch_sise": 7}, "Unknown setting of training 'batch_sise'.*'batch_size'"),
        ("training", {"batch_size": "7"}, r"`training\.batch_size` must be int, got '7'"),
        ("training", {"batch_size": 0}, "`batch_size` must be at least 1, got 0"),
        ("algorithm", {"std_end": 1.0}, "Unknown setting of algorithm 'std_end'"),
        ("network", {"rpp_actor": (1.0, 2.0, 3.0)}, r"`network\.rpp_actor` must be a list of 2"),
        ("task", {"name": "reacher-hard"}, "Unknown setting of task 'name'"),
        ("task", {"data": "prices.csv"}, "Unknown setting of task 'data'"),
        ("task", {"action_repeat": 2.0}, r"`task\.action_repeat` must be int, got 2\.0"),
    ],
)
def test_settings_that_do_not_fit(section, values, text):
    config = preset_config("smoke", find_task("cartpole-swingup", obs="state"), "sac", "none")
    with pytest.raises(UsageError, match=text):
        with_settings(config, section, values)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("seed", "1", "`seed` must be int, got '1'"),
        ("seed", -1, "`seed` must be at least 0"),
        ("threads", 2.0, "`threads` must be int, got 2.0"),
        ("device", None, "`device` must be str, got None"),
    ],
)
def test_values_that_do_not_fit(name, value, text):
    config = preset_config("smoke", find_task("cartpole-swingup", obs="state"), "sac", "none")
    with pytest.raises(UsageError, match=text):
        with_values(config, **{name: value})
