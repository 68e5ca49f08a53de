"""Symmetries that are found unaided, and those that are not there."""

import json

import gymnasium as gym
import numpy as np
import pytest

import nearsym
from nearsym.audits.environment import audit_environment
from nearsym.audits.moves import Move, still
from nearsym.discovery.elements import Element, generated, largest_group
from nearsym.discovery.naming import named_group
from nearsym.discovery.search import discover
from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.declared import Declared
from nearsym.physics.signed import SignedPermutation, identity


def state_task(name, variant=None):
    options = {} if variant is None else {"variant": variant}
    options |= {"obs": "state"} if name == "craft" or "-" in name else {}
    return nearsym.tasks.find_task(name, **options).make_for_audit()


def quick(env):
    return discover(env, samples=100)


@pytest.mark.parametrize("variant", [None, "tilt=45", "tilt=90"])
def test_the_craft_has_all_of_d4_under_one_declaration_or_another(variant):
    env = state_task("craft", variant)
    found = quick(env)
    assert (str(found.group), len(found.exact)) == ("D4", 7)
    ours, theirs = _pairs(found.symmetry), _pairs(env.unwrapped.symmetry)
    assert (ours == theirs) == (variant is None)


def _pairs(symmetry):
    both = zip(symmetry.observation.matrices, symmetry.action.matrices, strict=True)
    return {(o.tobytes(), a.tobytes()) for o, a in both}


def test_askew_thrusters_leave_the_rotations():
    found = quick(state_task("craft", "tilt=30"))
    assert str(found.group) == "C4"
    assert len(found.exact) == 3


@pytest.mark.longer
@pytest.mark.parametrize("name", ["cartpole-swingup", "acrobot-swingup", "ball_in_cup-catch"])
def test_the_mirror_of_control_tasks(name):
    env = state_task(name)
    found = quick(env)
    assert found.exact == ["mirror_x"]
    for part in ("observation", "action"):
        declared = getattr(env.unwrapped.symmetry, part).matrices
        assert np.array_equal(getattr(found.symmetry, part).matrices, declared)


@pytest.mark.slow
def test_reachers_plane():
    env = state_task("reacher-hard")
    found = quick(env)
    shown = {m.tobytes() for m in found.symmetry.observation.matrices}
    assert str(found.group) == "D4"  # D2, which the task declares, and quarter turns
    assert {m.tobytes() for m in env.unwrapped.symmetry.observation.matrices} < shown


@pytest.mark.parametrize("name", ["MountainCarContinuous-v0", "Hopper-v5"])
def test_nothing_where_there_is_nothing(name):
    found = quick(gym.make(name))
    assert (found.group.order, found.elements, found.audit) == (1, [], None)
    assert repr(found).startswith("No symmetry found among signed permutations.")


SLOW = pytest.mark.slow


@pytest.mark.longer
@pytest.mark.parametrize(
    "name", ["swimmer", "walker2d", "ant", pytest.param("humanoid", marks=SLOW)]
)
def test_robots(name):
    declared = nearsym.make(name).unwrapped.symmetry
    found = quick(gym.make(nearsym.make(name).unwrapped.domain.gymnasium_id))
    assert str(found.group) == "D1"
    assert np.array_equal(found.symmetry.action.matrices, declared.action.matrices)
    assert (found.exact == []) == (name == "humanoid")  # whose model is slightly off
    # Contact forces that never came are not told apart.
    shown = slice(0, 27 if name == "ant" else 45)
    ours, theirs = (s.observation.matrices[:, shown, shown] for s in (found.symmetry, declared))
    assert np.array_equal(ours, theirs)


@pytest.mark.longer
def test_what_only_the_reward_breaks_is_told():
    found = quick(gym.make("Ant-v5", include_cfrc_ext_in_observation=False))
    assert len(found.dynamics_only) == 6  # the rest of D4
    assert "6 more would keep next states exactly; the reward breaks them." in repr(found)


@pytest.mark.slow
def test_an_ant_that_is_paid_for_standing_has_all_of_d4():
    stands = gym.make("Ant-v5", include_cfrc_ext_in_observation=False, forward_reward_weight=0)
    assert str(quick(stands).group) == "D4"


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        pytest.param("cartpole-swingup", "gravity", marks=SLOW),
        pytest.param("swimmer", "wear", marks=SLOW),
        ("walker2d", "wear=1"),
    ],
)
def test_approximate_symmetries_come_with_their_epsilon(name, variant):
    env = state_task(name, variant)
    found = quick(env)
    (mirror,) = found.elements
    measured = audit_environment(env, samples=100, longest=300).elements[0]
    assert not mirror.exact
    assert mirror.eps_p == pytest.approx(measured.eps_p.mean, rel=0.5)


@pytest.mark.longer
def test_the_declaration_can_be_pasted():
    for make in (lambda: gym.make("Pendulum-v1"), lambda: state_task("craft", "tilt=90")):
        env = make()
        found = quick(env)
        names = {}
        exec(found.declaration, names)
        assert np.array_equal(
            names["symmetry"].observation.matrices, found.symmetry.observation.matrices
        )
        states = nearsym.physics.anywhere.with_states(make())
        declared = Declared(states, names["symmetry"], names["transform"])
        assert audit_environment(declared, samples=100).verdict == "exact"
    found = quick(gym.make("Swimmer-v5"))
    assert "transform" not in found.declaration  # a model needs none
    names = {}
    exec(found.declaration, names)
    audit = nearsym.audit(gym.make("Swimmer-v5"), symmetry=names["symmetry"], samples=100)
    assert audit.verdict == "exact"


def test_the_same_seed_gives_the_same_and_json_holds_it():
    one, two = (discover(gym.make("Pendulum-v1"), samples=100, seed=3).as_json() for _ in range(2))
    assert json.dumps(one) == json.dumps(two)
    assert one["group"] == "D1"
    assert one["elements"][0]["observation"] == [[1, 0, 0], [0, -1, 0], [0, 0, -1]]


class TestGroups:
    def element(self, source, signs=None):
        n = len(source)
        signed = SignedPermutation(
            np.array(source), np.ones(n) if signs is None else np.array(signs)
        )
        return Element(Move(signed, (0,) * n, identity(1)), signed)

    def test_products_outside_are_refused(self):
        turn = self.element([1, 2, 0])
        still_ = Element(still(3, 1), identity(3))
        assert generated([still_, turn], {still_.key, turn.key}) is None
        assert len(largest_group([still_, turn])) == 1

    @pytest.mark.parametrize(
        ("generators", "group"),
        [
            ([([1, 0], [-1.0, 1.0])], cyclic(4)),
            ([([1, 0], None), ([0, 1], [-1.0, 1.0])], dihedral(4)),
            ([([0, 1], [-1.0, 1.0]), ([0, 1], [1.0, -1.0])], dihedral(2)),
            ([([1, 2, 0], None)], cyclic(3)),
            ([([1, 2, 0], None), ([1, 0, 2], None)], dihedral(3)),
        ],
    )
    def test_groups_get_their_names(self, generators, group):
        elements = [self.element(*generator) for generator in generators]
        n = len(generators[0][0])
        start = Element(still(n, 1), identity(n))
        everything = _closed([start, *elements])
        found, ordered = named_group(everything)
        assert found == group
        for g in range(group.order):
            for h in range(group.order):
                assert ordered[g].after(ordered[h]).key == ordered[group.mul[g, h]].key

    def test_three_independent_signs_have_a_table_of_their_own(self):
        signs = np.eye(3) * -2 + 1
        start = Element(still(3, 1), identity(3))
        everything = _closed([start, *(self.element([0, 1, 2], row) for row in signs)])
        found, _ = named_group(everything)
        assert (found.name, found.order) == ("G8", 8)


def _closed(elements):
    found = {e.key: e for e in elements}
    while True:
        more = {x.after(y).key: x.after(y) for x in found.values() for y in found.values()}
        if set(more) <= set(found):
            return list(found.values())
        found = more | found
        found = {elements[0].key: elements[0]} | found


class TestRefusals:
    def test_no_state_to_set(self):
        class Closed(gym.Wrapper):
            pass

        env = gym.make("Blackjack-v1")
        with pytest.raises(UsageError, match="an environment whose state can be set; Black"):
            discover(Closed(env))

    @pytest.mark.parametrize("look", [discover, nearsym.audit])
    def test_a_name_is_no_environment(self, look):
        with pytest.raises(UsageError, match=r"Expected an environment, got its name 'Ant-v5': ma"):
            look("Ant-v5")

    def test_discrete_actions(self):
        with pytest.raises(UsageError, match=r"needs vectors for actions, got Discrete\(2\)"):
            discover(gym.make("CartPole-v1"))

    def test_samples(self):
        with pytest.raises(UsageError, match="`samples` must be at least 100"):
            discover(gym.make("Pendulum-v1"), samples=5)


def test_a_world_that_refuses_the_reference_state():
    with pytest.raises(UsageError, match="TradingEnv refuses to be put there"):
        quick(state_task("trading"))


class Flickering(gym.ObservationWrapper):
    """A pendulum that shows something else each time."""

    def observation(self, observation):
        return np.random.default_rng().normal(size=3).astype(np.float32)


def test_a_world_that_does_not_repeat_itself():
    with pytest.raises(UsageError, match="PendulumEnv does not repeat itself"):
        quick(Flickering(gym.make("Pendulum-v1")))


def test_what_is_no_environment():
    with pytest.raises(UsageError, match="An environment is expected, got"):
        discover(None)
    with pytest.raises(UsageError, match="An audit needs an environment, got"):
        nearsym.audit(None)
    for call in (discover, nearsym.audit):
        with pytest.raises(UsageError, match="Expected an environment, got its name 'craft'"):
            call("craft")
