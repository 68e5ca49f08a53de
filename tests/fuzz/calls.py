"""Random arguments of the public interface in Python."""

import numpy as np

import nearsym
from fuzz.values import junk
from nearsym import groups
from nearsym.agents import DrQV2Config, SACConfig
from nearsym.networks import NetworkConfig
from nearsym.runs.config import from_plain, to_plain
from nearsym.runs.configure import configure
from nearsym.training import CheckpointStore, Replay, TrainingConfig, read_metrics

OPTIONS = ["variant", "obs", "size", "frame_stack", "noise", "actions", "group", "render_mode"]
CONFIGS = [DrQV2Config, SACConfig, NetworkConfig, TrainingConfig]


def make(place, rng):
    name = rng.choice(["craft", "craft", "cartpole-swingup", "Pendulum-v1", junk(rng)])
    options = {key: junk(rng) for key in rng.sample(OPTIONS, rng.randrange(3))}
    return lambda: nearsym.make(name, **options).close(), f"make({name!r}, **{options!r})"


def configuration(place, rng):
    names = ["model", "agent", "preset", "frames", "seed", "threads", "precision", "device"]
    options = {key: junk(rng) for key in rng.sample(names, 1 + rng.randrange(2))}
    section = rng.choice(["algorithm", "network", "training"])
    kinds = {"algorithm": SACConfig, "network": NetworkConfig, "training": TrainingConfig}
    fields = list(kinds[section].__dataclass_fields__)
    if rng.random() < 0.7:
        options[section] = {rng.choice([*fields, "x"]): junk(rng)}
    chosen = {"preset": "smoke"} | options
    return lambda: configure("craft", **chosen), f"configure('craft', **{chosen!r})"


def plain(place, rng):
    from fuzz.edits import edit_value

    value = edit_value(to_plain(configure("craft", preset="smoke")), rng)
    return lambda: from_plain(value), f"from_plain({value!r})"


def group(place, rng):
    family, n = rng.choice([groups.cyclic, groups.dihedral]), junk(rng)
    if rng.random() < 0.3:
        n = rng.randrange(1, 9)
    return lambda: family(n).regular(), f"{family.__name__}({n!r})"


def representation(place, rng):
    made = groups.dihedral(rng.choice([1, 2, 4]))
    value = rng.choice([junk(rng), [junk(rng)], [[[1.0]], [[junk(rng)]]], np.zeros((2, 1, 1))])
    return lambda: made.representation(value), f"{made}.representation({value!r})"


def _arrays(rng, shape):
    """An array of that shape, or one that is wrong somehow."""
    good = np.zeros(shape)
    bad = [
        good.astype(complex),
        good + np.nan,
        good + np.inf,
        good.astype(str),
        None,
        "x",
        np.zeros(0),
    ]
    bad += [good.astype(object), np.zeros((*shape, 2)), good + 2, good.tolist(), 3, {}, 1j * good]
    return rng.choice([good, *bad])


ENVIRONMENTS = {
    "craft": {},
    "cartpole-swingup": {"obs": "state"},
    "trading": {},
    "inverted_pendulum": {},
}
_MADE: dict = {}


def environment(name):
    """One of each, made once."""
    if name not in _MADE:
        _MADE[name] = nearsym.make(name, **ENVIRONMENTS[name]).unwrapped
    return _MADE[name]


def step(place, rng):
    name = rng.choice(list(ENVIRONMENTS))
    env = environment(name)
    env.reset(seed=0)
    action = _arrays(rng, env.action_space.shape)
    return _unharmed(env, lambda: env.step(action)), f"{name}.step({action!r})"


def set_state(place, rng):
    name = rng.choice(list(ENVIRONMENTS))
    env = environment(name)
    env.reset(seed=0)
    state = dict(env.get_state())
    key = rng.choice(sorted(state))
    state[key] = rng.choice([_arrays(rng, np.shape(state[key])), junk(rng)])
    if rng.random() < 0.2:
        del state[key]
    return _unharmed(
        env, lambda: env.set_state(state)
    ), f"{name}.set_state(… {key}: {state.get(key)!r})"


def _unharmed(env, function):
    """A call that changes nothing where it is refused."""

    def watched():
        before = {key: np.array(value) for key, value in env.get_state().items()}
        try:
            function()
        except Exception:
            after = env.get_state()
            same = all(np.array_equal(before[key], after[key]) for key in before)
            if not same:
                raise AssertionError("a refused call has changed the state") from None
            raise

    return watched


def replay(place, rng):
    made = Replay(capacity=20, obs_shape=(2,), obs_dtype=np.float32, action_size=1)
    obs = _arrays(rng, (2,))
    steps = [_arrays(rng, (1,)), junk(rng), junk(rng)]

    def use():
        made.start(np.zeros(2, np.float32))
        made.add(*steps, np.zeros(2, np.float32) if rng.random() < 0.5 else obs)

    return use, f"Replay.add({steps!r})"


def opened(place, rng):
    path = rng.choice([place, place / "none", junk(rng)])
    return lambda: (nearsym.Run(path).metrics, nearsym.Run(path).summary), f"Run({path!r})"


def evaluated(place, rng):
    names = ["episodes", "noise", "checkpoint", "sample", "seed"]
    options = {"episodes": 1} | {key: junk(rng) for key in rng.sample(names, 1 + rng.randrange(2))}
    if options["episodes"] in (100, 7):
        options["episodes"] = 1
    return lambda: nearsym.Run(place).evaluate(**options), f"evaluate(**{options!r})"


def checkpoint(place, rng):
    which = junk(rng)
    return lambda: CheckpointStore(place / "checkpoints").load(which), f"load({which!r})"


def metrics(place, rng):
    path = rng.choice([place / "metrics.jsonl", place / "config.json", place / "none", place])
    return lambda: read_metrics(path), f"read_metrics({path})"


CALLS = [make, configuration, configuration, plain, group, representation, step, step, set_state]
CALLS += [set_state, replay, opened, evaluated, checkpoint]
