"""The audit against environments whose truth is known and on which it was not tuned."""

import json
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from nearsym.audits.any_environment import audit
from nearsym.audits.environment import SEEN_AT_RANDOM, audit_environment
from nearsym.audits.policies import uniform
from nearsym.audits.rollouts import audit_rollouts
from nearsym.errors import UsageError
from nearsym.groups.catalog import cyclic, dihedral, trivial
from nearsym.groups.representation import Representation, from_matrices, plane_of, trivial_of
from nearsym.groups.symmetry import Symmetry
from nearsym.tasks.registry import make
from nearsym.theory.families import random_action, random_mdp
from nearsym.theory.mdp import FiniteMDP, pushed_forward

D2 = dihedral(2)


def by_name(audit):
    return {element.name: element for element in audit.elements}


def with_turned_sign(representation, entry, elements):
    """The representation with one sign swapped under two of the elements of D2."""
    matrices = representation.matrices.copy()
    for g in elements:
        matrices[g, entry] *= -1
    return from_matrices(D2, matrices, "mistaken")


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=str)
def test_symmetric_systems_are_exact(linear_world, dtype):
    for seed in range(3):
        found = audit_environment(linear_world(seed, dtype=dtype), samples=200)
        assert found.verdict == "exact"
        assert all(not element.regions for element in found.elements)
        assert found.stabilizer == list(D2.elements)


@pytest.mark.parametrize("seed", range(4))
def test_the_region_is_where_it_and_its_image_disagree(linear_world, seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform(0.05, 0.2)
    high = low + rng.uniform(0.3, 0.5)
    world = linear_world(seed, inside=lambda x: low <= x[0] <= high)
    found = by_name(audit_environment(world, samples=2000))
    assert found["mirror_y"].strength.exact
    for name in ("mirror_x", "rot180"):
        element = found[name]
        sides = sorted(box.bounds["x[0]"] for box in element.regions)
        assert np.array(sides) == pytest.approx(np.array([[-high, -low], [low, high]]), abs=0.03)
        assert all(box.bounds.keys() == {"x[0]"} for box in element.regions)
        shares = sum(box.share for box in element.regions)
        assert shares == pytest.approx(element.strength.broken_share, abs=0.01)


def test_distances_are_the_known_ones(linear_world):
    found = by_name(audit_environment(linear_world(drift=[0, 0.02, 0, 0]), samples=200))
    for name in ("mirror_y", "rot180"):
        assert found[name].eps_p.mean == pytest.approx(0.04)
        assert found[name].eps_p.largest == pytest.approx(0.04)
        (everywhere,) = found[name].regions
        assert everywhere.bounds == {}
    assert found["mirror_x"].strength.exact


def test_whether_the_stabilizer_is_a_group_is_said(linear_world):
    found = audit_environment(linear_world(drift=[0.03, 0.04, 0, 0]), samples=200)
    levels = {e.name: e.strength.level for e in found.elements}
    assert max(levels, key=levels.get) == "rot180"  # both mirrors' errors together
    between = replace(found, epsilon=max(levels["mirror_x"], levels["mirror_y"]))
    assert between.stabilizer == ["e", "mirror_x", "mirror_y"]
    assert between.as_json()["stabilizer_is_group"] is False
    assert replace(found, epsilon=9.0).as_json()["stabilizer_is_group"] is True


@pytest.mark.parametrize("seed", range(3))
def test_one_reflection_strongly_broken_is_partial(linear_world, seed):
    found = audit_environment(linear_world(seed, drift=[0, 0.5, 0, 0]), samples=200)
    assert found.verdict == "partial"
    assert found.stabilizer == ["e", "mirror_x"]
    mild = audit_environment(linear_world(seed, drift=[0, 0.02, 0, 0]), samples=200)
    assert mild.verdict == "approximate"
    strict = audit_environment(
        linear_world(seed, drift=[0, 0.02, 0, 0]), samples=200, epsilon=0.005
    )
    assert strict.verdict == "partial"


@pytest.mark.parametrize("seed", range(10, 22))
def test_a_mild_break_everywhere_is_no_mistake(linear_world, seed):
    found = audit_environment(linear_world(seed, drift=[0, 0.02, 0, 0]), samples=100)
    assert found.verdict == "approximate"


@pytest.mark.parametrize("entry", range(2))
@pytest.mark.parametrize("elements", [(1, 2), (1, 3), (2, 3)])
def test_a_swapped_sign_in_the_action_is_wrong_and_named(linear_world, entry, elements):
    world = linear_world(seed=1)
    world.symmetry = Symmetry(world.rho, with_turned_sign(world.plane, entry, elements))
    found = audit_environment(world, samples=200)
    assert found.verdict == "wrong"
    (mistake,) = found.mistakes
    assert (mistake.part, mistake.index) == ("action", entry)
    assert mistake.elements == tuple(D2.elements[g] for g in elements)
    assert f"action[{entry}] under" in found.reason


@pytest.mark.parametrize("entry", range(4))
@pytest.mark.parametrize("transform_too", [False, True])
def test_a_swapped_sign_in_an_observation_is_wrong_and_named(linear_world, entry, transform_too):
    world = linear_world(seed=1)
    mistaken = with_turned_sign(world.rho, entry, (1, 2))
    world.symmetry = Symmetry(mistaken, world.plane)
    if transform_too:
        world.moves = mistaken
    found = audit_environment(world, samples=200)
    assert found.verdict == "wrong"
    expected = [("state", f"x[{entry}]", entry)] if transform_too else []
    expected += [("observation", f"observation[{entry}]", entry)]
    assert [(m.part, m.name, m.index) for m in found.mistakes] == expected


def test_a_swapped_sign_beside_a_mild_break_is_still_wrong(linear_world):
    world = linear_world(seed=1, drift=[0, 0.02, 0, 0])
    world.symmetry = Symmetry(world.rho, with_turned_sign(world.plane, 1, (1, 3)))
    found = audit_environment(world, samples=200)
    assert found.verdict == "wrong"
    assert [(m.part, m.index) for m in found.mistakes] == [("action", 1)]


def test_reversed_actions_in_most_places_are_no_swapped_sign(linear_world):
    world = linear_world(seed=1, inside=lambda x: x[1] > 0.05)
    found = audit_environment(world, samples=1000)
    assert found.elements[2].strength.broken_share > 0.5
    assert not found.mistakes


def test_shares_are_those_of_random_actions_and_say_so(linear_world):
    """Where it fails everywhere, or an own policy has acted, there is nothing to add."""
    somewhere = linear_world(seed=1, inside=lambda x: x[1] > 0.05)
    everywhere = linear_world(seed=1, drift=[0, 0.02, 0, 0])
    assert SEEN_AT_RANDOM in audit_environment(somewhere, samples=200).notes
    assert f"Note: {SEEN_AT_RANDOM}" in repr(audit_environment(somewhere, samples=200))
    assert SEEN_AT_RANDOM not in audit_environment(everywhere, samples=200).notes
    own = audit(somewhere, samples=200, policy=lambda obs: somewhere.action_space.low)
    assert SEEN_AT_RANDOM not in own.notes


def mean_truths(mdp, action, length):
    """Means of the reward and next-state mismatches over states under uniform actions."""
    flow, law = mdp.transitions.mean(axis=1), np.full(mdp.states, 1 / mdp.states)
    visits = np.zeros(mdp.states)
    for _ in range(length):
        visits, law = visits + law / length, law @ flow
    truths = []
    for g in range(1, action.group.order):
        laws, rewards = pushed_forward(mdp, action, g)
        at = np.ix_(action.states[g], action.actions[g])
        reward = np.abs(rewards - mdp.rewards)[at].mean(axis=1) @ visits
        apart = 0.5 * np.abs(laws - mdp.transitions).sum(axis=-1)[at].mean(axis=1) @ visits
        truths.append((reward, apart))
    return truths


def table(seed, *, certain, broken=1.0):
    rng = np.random.default_rng(seed)
    action = random_action(cyclic(2), rng, state_orbits=4, action_orbits=2)
    mdp = random_mdp(action, rng, discount=0.9, broken=broken)
    if certain:
        following = np.eye(mdp.states)[mdp.transitions.argmax(axis=-1)]
        mdp = FiniteMDP(following, mdp.rewards, 0.9)
    return mdp, action


@pytest.mark.longer
def test_intervals_cover_the_truth_of_a_tabular_simulator(table_world):
    covered = []
    for seed in range(60):
        mdp, action = table(seed % 6, certain=True)
        found = audit_environment(
            table_world(mdp, action),
            samples=160,
            per_episode=8,
            seed=seed,
            policies=(uniform,),
        )
        assert not found.stochastic
        (element,), ((reward, apart),) = found.elements, mean_truths(mdp, action, 10)
        for estimate, truth in ((element.eps_r, reward), (element.eps_p, apart)):
            low, high = estimate.mean_ci95
            covered.append(low - 1e-9 <= truth <= high + 1e-9)
    assert np.mean(covered) >= 0.9  # 0.95 less three standard errors of 120 trials


def test_random_dynamics_are_bracketed(table_world):
    for seed in range(3):
        mdp, action = table(seed, certain=False)
        world = table_world(mdp, action)
        found = audit_environment(world, samples=200, seed=seed, policies=(uniform,))
        (element,), ((_, apart),) = found.elements, mean_truths(mdp, action, 10)
        low, high = element.eps_p.mean_ci95
        assert found.stochastic
        assert low <= apart <= high
        assert element.eps_p.mean > 0.02
        assert element.eps_p.mean < element.eps_p.mean_from_above


def test_symmetric_random_dynamics_are_exact(table_world):
    mdp, action = table(1, certain=False, broken=0.0)
    found = audit_environment(table_world(mdp, action), samples=200, policies=(uniform,))
    assert found.verdict == "exact"
    assert found.stochastic


@pytest.mark.parametrize("asked", ["observe", "_get_obs"])
def test_observations_that_can_be_asked_for(linear_world, asked):
    class Frank(linear_world):
        pass

    setattr(Frank, asked, lambda self: self.x.copy())
    strong = Frank(seed=1, drift=[0, 0.5, 0, 0])
    strong.symmetry = Symmetry(with_turned_sign(strong.rho, 0, (1, 3)), strong.plane)
    found = audit_environment(strong, samples=100)
    assert found.verdict == "wrong"
    assert [(m.part, m.index) for m in found.mistakes] == [("observation", 0)]
    hidden = audit_environment(linear_world(seed=1, drift=[0, 0.5, 0, 0]), samples=100)
    assert "give the environment a method observe()" in hidden.notes[0]


def test_the_region_of_random_dynamics(linear_world):
    class Noisy(linear_world):
        def step(self, action):
            _, *rest = super().step(action)
            self.x = self.x + 0.02 * self.np_random.standard_normal(4)
            return self.x.copy(), *rest

    found = audit_environment(Noisy(inside=lambda x: x[0] > 0.2), samples=600)
    assert found.stochastic
    element = by_name(found)["mirror_x"]
    edges = sorted(box.bounds["x[0]"] for box in element.regions)
    assert edges[0][1] == pytest.approx(-0.2, abs=0.05)
    assert edges[-1][0] == pytest.approx(0.2, abs=0.05)
    assert by_name(found)["mirror_y"].strength.exact
    assert by_name(found)["mirror_y"].regions == []


def test_the_same_seed_gives_the_same_audit(linear_world):
    def audited(seed):
        world = linear_world(inside=lambda x: x[0] > 0.2)
        return json.dumps(audit_environment(world, samples=200, seed=seed).as_json())

    assert audited(3) == audited(3)
    assert audited(3) != audited(4)


def test_lopsided_starts_are_noticed(linear_world):
    class Lopsided(linear_world):
        def reset(self, **options):
            _, info = super().reset(**options)
            self.x[2] = abs(self.x[2])
            return self.x.copy(), info

    found = audit_environment(Lopsided(), samples=200)
    assert {(s["element"], s["coordinate"]) for s in found.starts} == {
        ("rot180", "x[2]"),
        ("mirror_x", "x[2]"),
    }
    assert audit_environment(linear_world(), samples=200).starts == []


def test_rewards_alone_can_be_broken(linear_world):
    class Uneven(linear_world):
        def step(self, action):
            obs, _, *rest = super().step(action)
            return obs, float(obs[1]), *rest

    found = audit_environment(Uneven(), samples=200)
    assert found.verdict == "partial"
    assert found.stabilizer == ["e", "mirror_x"]
    assert by_name(found)["mirror_y"].eps_p.largest == 0


class TestRefusals:
    def test_no_symmetry(self):
        with pytest.raises(UsageError, match=r"declares no symmetry: .* `symmetry`"):
            audit_environment(gym.make("CartPole-v1"))

    def test_a_trivial_group(self, linear_world):
        world = linear_world()
        world.symmetry = Symmetry(4 * trivial_of(trivial()), 2 * trivial_of(trivial()))
        with pytest.raises(UsageError, match="no element but e: there is nothing to audit"):
            audit_environment(world)

    def test_no_set_state(self, linear_world):
        class Closed(linear_world):
            set_state = None

        with pytest.raises(UsageError, match="needs set_state on the environment"):
            audit_environment(Closed())

    def test_a_matrix_that_is_no_representation(self, linear_world):
        world = linear_world()
        matrices = np.stack([np.eye(4)] * 4)
        matrices[1, 0, 0] = 2.0
        world.symmetry = Symmetry(Representation(D2, matrices, "x"), world.plane)
        with pytest.raises(UsageError, match=r"no representation of D2: ρ\(rot180\)·ρ\(rot180\)"):
            audit_environment(world)

    def test_an_element_that_leaves_the_observation_space(self, linear_world):
        world = linear_world()
        low = np.array([-9, -9, -1, -9.0])
        world.observation_space = gym.spaces.Box(low, np.full(4, 9.0), dtype=np.float64)
        with pytest.raises(UsageError, match="rot180 leaves the observation space: entry 2 would"):
            audit_environment(world)

    def test_a_transform_that_is_no_action(self, linear_world):
        class Twisted(linear_world):
            def transform(self, g, state):
                moved = super().transform(g, state)
                return {**moved, "x": moved["x"] * (1 + 0.5 * (g == 2))}

        with pytest.raises(UsageError, match="transform is no action of D2 on states: moving by"):
            audit_environment(Twisted())

    def test_a_transform_that_moves_by_the_identity(self, linear_world):
        class Restless(linear_world):
            def transform(self, g, state):
                return {**state, "x": state["x"] + 1}

        with pytest.raises(UsageError, match="must leave a state as it is, but it changes x"):
            audit_environment(Restless())

    @pytest.mark.parametrize(
        ("what", "text"),
        [
            ("observation", "the observation entry 1 is nan"),
            ("reward", "the reward is nan"),
            ("state", "the .* is nan"),
        ],
    )
    @pytest.mark.parametrize("audited", [audit_environment, audit_rollouts])
    def test_numbers_that_compare_with_nothing(self, linear_world, what, text, audited):
        class Blind(linear_world):
            def step(self, action):
                obs, reward, *rest = super().step(action)
                if what == "observation":
                    obs = np.where(np.arange(4) == 1, np.nan, obs)
                if what == "state":
                    self.x = np.where(np.arange(4) == 2, np.nan, self.x)
                return obs, np.nan if what == "reward" else reward, *rest

        with pytest.raises(UsageError, match=f"compares numbers, and after a step .*{text}"):
            audited(Blind(), samples=100)

    def test_a_transform_to_states_that_are_not_possible(self, linear_world):
        class Rooted(linear_world):
            def reset(self, **options):
                super().reset(**options)
                self.x = np.abs(self.x) + 1
                return self.x, {}

            def step(self, action):
                start = self.x
                obs, _, *rest = super().step(action)
                with np.errstate(invalid="ignore"):
                    return obs, float(np.sqrt(start[0])), *rest

        with pytest.raises(UsageError, match=r"after a step from .*·s the reward is nan\. Perhaps"):
            audit_environment(Rooted(), samples=100, longest=1)

    def test_a_state_that_is_no_dict(self, linear_world):
        class Bare(linear_world):
            def get_state(self):
                return self.x

        with pytest.raises(UsageError, match=r"get_state must return a dict of .*got ndarray"):
            audit_environment(Bare())

    def test_a_transform_that_returns_nothing(self, linear_world):
        class Silent(linear_world):
            def transform(self, g, state):
                super().transform(g, state)

        with pytest.raises(UsageError, match=r"transform must return a dict of arrays.*NoneType"):
            audit_environment(Silent())

    def test_observations_of_several_parts(self, linear_world):
        world = linear_world()
        world.observation_space = gym.spaces.Dict({"x": world.observation_space})
        with pytest.raises(UsageError, match="An audit reads observations that are one array"):
            audit_environment(world)

    def test_a_symmetry_of_time(self):
        text = r"TradingEnv declares a symmetry of time \(T\), and an audit needs one of a finite"
        with pytest.raises(UsageError, match=text):
            audit_environment(make("trading"))

    def test_a_state_that_is_not_restored(self, linear_world):
        class Forgetful(linear_world):
            def set_state(self, state):
                super().set_state(state)
                self.x = self.x + 1e-3 * np.random.default_rng().normal(size=4)

        with pytest.raises(UsageError, match="set_state does not restore the whole state"):
            audit_environment(Forgetful())

    def test_sizes_that_do_not_fit(self, linear_world):
        world = linear_world()
        world.symmetry = Symmetry(3 * trivial_of(D2), plane_of(D2))
        with pytest.raises(UsageError, match=r"has size 3, but observations have shape \(4,\)"):
            audit_environment(world)

    def test_a_state_without_coordinates(self, linear_world):
        class Nameless(linear_world):
            def get_state(self):
                return {"random_words": self.x}

        with pytest.raises(UsageError, match=r"is a coordinate\. Name arrays"):
            audit_environment(Nameless())

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"samples": 5}, "`samples` must be at least 100, got 5"),
            ({"epsilon": -1.0}, "`epsilon` is a positive number of mean steps, got -1"),
        ],
    )
    def test_options(self, linear_world, options, message):
        with pytest.raises(UsageError, match=message):
            audit_environment(linear_world(), **options)
