"""Audits of Gymnasium's own tasks, declared rightly and wrongly, and broken."""

import gymnasium as gym
import numpy as np
import pytest
from tests.audits import robots
from tests.audits.robots import D1, mirrored, places

import nearsym
from nearsym.audits.environment import audit_environment
from nearsym.audits.inferred import with_transform
from nearsym.audits.pendulum import MirrorPendulum
from nearsym.errors import UsageError
from nearsym.groups.declared import Declared

pytest.importorskip("mujoco")


def audited(env, symmetry, *, longest=40):
    env = with_transform(Declared(env, symmetry))
    return audit_environment(env, samples=100, longest=longest)


def named(found, part=None):
    return {m.index for m in found.mistakes if part is None or m.part == part}


@pytest.mark.parametrize("name", ["Swimmer-v5", "Reacher-v5", "Walker2d-v5", "Ant-v5"])
def test_right_declarations_are_exact_with_nothing_to_write(name):
    found = audited(robots.make(name), mirrored(*robots.RIGHT[name]))
    assert (found.verdict, found.mistakes) == ("exact", [])


def test_a_lean_of_gravity_is_next_to_nothing():
    name = "InvertedDoublePendulum-v5"
    found = audited(gym.make(name), mirrored(*robots.RIGHT[name]))
    assert found.verdict == "approximate"
    assert found.reason.startswith("Next to nothing is off (")
    assert found.notes == ["Untested, because they never varied: observation entry 8."]


def test_a_pole_that_ends_askew_is_a_slight_break():
    found = audited(gym.make("InvertedPendulum-v5"), mirrored([-1] * 4, [-1]))
    assert found.verdict == "approximate"
    assert found.reason.startswith("Broken slightly (0.00")


def test_a_wrong_action_sign_at_a_speed_limit():
    class Wrong(MirrorPendulum):
        symmetry = mirrored([1, -1, -1], [1])

    found = audit_environment(Wrong(), samples=400)
    holds = 1 - found.elements[0].strength.broken_share
    assert found.verdict == "wrong"
    assert [(m.part, m.should) for m in found.mistakes] == [("action", ("[−a0]",))]
    assert holds > 0.01  # where the speed is clipped the action does nothing


@pytest.mark.parametrize(
    ("action", "wrong"),
    [
        (places([3, 5, 4, 0, 2, 1]), {1, 2, 4, 5}),  # knees and feet crossed
        (places([3, 4, 2, 0, 1, 5]), {2, 5}),  # feet left out
        (places([3, 4, 5, 0, 1, 2], [1, 1, -1, 1, 1, -1]), {2, 5}),
    ],
)
def test_walkers_actions(action, wrong):
    found = audited(gym.make("Walker2d-v5"), mirrored(robots.WALKER_OBS, action))
    assert found.verdict == "wrong"
    assert {(m.part, m.index) for m in found.mistakes} == {("action", i) for i in wrong}
    assert found.mistakes[0].should == ("[+a3, +a4, +a5, +a0, +a1, +a2]",)


def test_feet_left_out_of_everything():
    obs = places([0, 1, 5, 6, 4, 2, 3, 7, 8, 9, 10, 14, 15, 13, 11, 12, 16])
    found = audited(gym.make("Walker2d-v5"), mirrored(obs, places([3, 4, 2, 0, 1, 5])))
    assert found.verdict == "wrong"
    assert named(found, "action") == {2, 5}
    assert named(found, "observation") == {4, 7, 13, 16}
    states = {m.name: m.should for m in found.mistakes if m.part == "state"}
    assert states["foot_joint"] == ("+foot_left_joint",)
    assert set(states) == {
        f"{kind}foot_{side}joint" for kind in ("", "velocity ") for side in ("", "left_")
    }


def test_ants_legs_in_the_wrong_order():
    wrong = places([4, 5, 6, 7, 0, 1, 2, 3], robots.HIPS)
    found = audited(robots.make("Ant-v5"), mirrored(robots.ANT_OBS, wrong))
    assert found.verdict == "wrong"
    assert named(found) == set(range(8))
    assert found.mistakes[0].should == ("[−a2, +a3, −a0, +a1, −a6, +a7, −a4, +a5]",)


class Own(gym.Wrapper):
    """What a person writes first: positions and velocities, and no control."""

    source = np.array([0, 1, 2, 6, 7, 8, 3, 4, 5])

    def get_state(self):
        data = self.unwrapped.data
        return {"qpos": data.qpos.copy(), "qvel": data.qvel.copy()}

    def set_state(self, state):
        self.unwrapped.set_state(state["qpos"], state["qvel"])

    def transform(self, g, state):
        return state if g == 0 else {key: value[self.source] for key, value in state.items()}


def test_a_wrong_permutation_in_transform_is_not_blamed_on_observations():
    class Crossed(Own):
        source = np.array([0, 1, 2, 6, 8, 7, 3, 5, 4])

    symmetry = mirrored(robots.WALKER_OBS, robots.WALKER_ACTION)
    right = audit_environment(Declared(Own(gym.make("Walker2d-v5")), symmetry), samples=100)
    assert right.verdict == "exact"
    found = audit_environment(Declared(Crossed(gym.make("Walker2d-v5")), symmetry), samples=100)
    assert found.verdict == "wrong"
    joints = {4, 5, 7, 8}
    assert {m.name for m in found.mistakes} == {
        f"{q}[{i}]" for q in ("qpos", "qvel") for i in joints
    }
    assert "transform should map qpos[4] to +qpos[7] under mirror_x" in found.reason


def test_observations_that_depend_on_more_than_the_state():
    class Contacts(Own):
        def transform(self, g, state):
            if g == 0:
                return state
            full = np.eye(29)
            full[2:, 2:] = robots.ANT_OBS
            full[1, 1] = -1
            x = full @ np.concatenate([state["qpos"], state["qvel"]])
            return {"qpos": x[:15], "qvel": x[15:]}

    full = np.eye(105)
    full[:27, :27] = robots.ANT_OBS
    env = Declared(Contacts(gym.make("Ant-v5")), mirrored(full, robots.ANT_ACTION))
    found = audit_environment(env, samples=100, longest=60)
    assert found.notes[0].startswith("observe() does not repeat after set_state: the same state")
    assert "which depend on something that get_state leaves out" in found.notes[0]
    assert found.notes[1].startswith("Untested, because they never varied: observation entries")
    assert min(named(found, "observation")) >= 27  # contact forces move too, and were declared not
    assert found.elements[0].strength.exact


def test_several_wrong_entries_at_once():
    obs = robots.WALKER_OBS @ places(range(17), [1, -1, *[1] * 15])
    found = audited(gym.make("Walker2d-v5"), mirrored(obs, places([3, 4, 2, 0, 1, 5])))
    assert found.verdict == "wrong"
    assert {(m.part, m.index) for m in found.mistakes} == {
        ("action", 2),
        ("action", 5),
        ("observation", 1),
    }


def test_what_no_declaration_repairs_is_not_wrong():
    found = audited(gym.make("Hopper-v5"), mirrored([1, *[-1] * 4, -1, 1, *[-1] * 4], [-1] * 3))
    assert (found.verdict, found.mistakes) == ("partial", [])
    assert found.reason.startswith("No element but e holds")


@pytest.mark.parametrize(
    ("paid", "verdict"), [(1e-6, "exact"), (0.3, "approximate"), (30, "partial")]
)
def test_only_the_reward_breaks_it(paid, verdict):
    class Paid(MirrorPendulum):
        def step(self, action):
            obs, reward, *rest = super().step(action)
            return obs, reward + paid * float(obs[1]), *rest

    found = audit_environment(Paid(), samples=200)
    assert found.verdict == verdict
    said = "Only the reward breaks it: next states agree at every sample." in found.reason
    assert said == (verdict != "exact")


def test_float32_rewards_are_rounding():
    class Coarse(MirrorPendulum):
        def step(self, action):
            obs, reward, *rest = super().step(action)
            noise = np.float32(1e-8) * np.sign(action[0])
            return obs, float(reward) + float(noise), *rest

    assert audit_environment(Coarse(), samples=200).verdict == "exact"


def test_angles_that_were_not_declared_get_a_hint():
    class Undeclared(MirrorPendulum):
        angles = ()

        def transform(self, g, state):
            angle, velocity = state["state"]
            return {"state": np.array([np.mod(-angle, 2 * np.pi), -velocity])} if g == 1 else state

    with pytest.raises(UsageError, match=r"By whole turns: if angle is an angle, name it in `angl"):
        audit_environment(Undeclared(), samples=200)

    class Wound(MirrorPendulum):
        angles = ()

        def step(self, action):
            outcome = super().step(action)
            angle, velocity = self._pendulum.state
            self._pendulum.state = np.array([np.mod(angle, 2 * np.pi), velocity])
            return outcome

    found = audit_environment(Wound(), samples=200)
    assert any("angle came out whole turns (2π) apart" in note for note in found.notes)
    assert "name them in `angles`" in found.notes[-1]


def test_boxes_among_many_coordinates_stay_readable():
    env = gym.make("Walker2d-v5")
    model = env.unwrapped.model
    model.geom_friction[model.geom("foot_left_geom").id, 0] *= 0.3
    found = audited(env, mirrored(*robots.RIGHT["Walker2d-v5"]), longest=200)
    assert found.verdict in ("approximate", "partial")
    assert not found.mistakes
    assert 0 < found.elements[0].strength.broken_share < 1
    for box in found.elements[0].regions:
        assert len(box.bounds) <= 3
    assert len(found.elements[0].regions) <= 4


def random_wrong(name, seed):
    rng = np.random.default_rng(seed)
    obs, action = robots.RIGHT[name]
    which = seed % 3
    obs = robots.turned(obs, rng) if which != 0 else obs
    action = robots.turned(action, rng) if which != 1 else action
    return mirrored(obs, action)


def check_random_wrong(name, seed):
    found = audited(robots.make(name), random_wrong(name, seed), longest=25)
    assert found.verdict in ("wrong", "partial")


@pytest.mark.longer
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["Walker2d-v5", "Ant-v5"])
def test_random_wrong_declarations_never_pass(name, seed):
    check_random_wrong(name, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 50))
@pytest.mark.parametrize("name", ["Walker2d-v5", "Ant-v5"])
def test_more_random_wrong_declarations_never_pass(name, seed):
    check_random_wrong(name, seed)


def test_a_declaration_that_says_nothing_of_the_states_is_refused():
    env = gym.make("Hopper-v5")
    impossible = mirrored([1, 1, 1, -1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1])
    with pytest.raises(UsageError, match=r"how mirror_x moves states could not be told.*transform"):
        nearsym.audit(env, symmetry=impossible, samples=100)
    assert D1.order == 2
