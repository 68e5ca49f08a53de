import functools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearsym.errors import UsageError
from nearsym.groups.action import grid_moves
from nearsym.tasks.control.domains import DOMAINS
from nearsym.tasks.control.rendering import painter
from nearsym.tasks.registry import make

TASKS = list(DOMAINS)
# Among them states that are their own mirror images, half turns, and neighbours of both.
coordinates = st.one_of(
    st.floats(-0.3, 0.3),
    st.floats(-7.0, 7.0),
    st.sampled_from([0.0, np.pi, -np.pi, np.pi / 2, 1e-13, -1e-13, 1e-7, 0.1]),
)


@functools.cache
def painter_of(task):
    core = make(task, obs="state").unwrapped
    return painter(core.domain, core._simulation.physics.model.ptr, 40, background=False)


@pytest.mark.parametrize("task", TASKS)
@given(st.lists(coordinates, min_size=4, max_size=4))
def test_the_picture_of_a_moved_state_is_the_moved_picture(task, values):
    domain, brush = DOMAINS[task], painter_of(task)
    configuration = np.array(values[: len(domain.angles)])
    picture = brush.paint(configuration)
    for g, move in enumerate(grid_moves(domain.group)):
        moved = brush.paint(domain.move_configuration(g, configuration))
        assert np.array_equal(moved, move.apply(picture, 0, 1))


@pytest.mark.parametrize("task", TASKS)
def test_windings_are_not_seen(task):
    domain, brush = DOMAINS[task], painter_of(task)
    configuration = np.full(len(domain.angles), 0.1)
    turned = configuration + 4 * np.pi * np.array(domain.angles)
    assert np.array_equal(brush.paint(configuration), brush.paint(turned))


@pytest.mark.parametrize("size", [8, 53, 64, 85, 200])
@pytest.mark.parametrize("task", TASKS)
def test_any_size_renders_something(task, size):
    env = make(task, size=size)
    obs, _ = env.reset(seed=0)
    assert obs.shape == (size, size, 9)
    assert obs.max() > 40


@pytest.mark.parametrize("task", TASKS)
def test_floor_and_sky_are_gone(task):
    """The corners are black, or blue where reacher's walls meet them."""
    picture = make(task).reset(seed=0)[0][..., :3]
    corners = picture[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert (corners == corners[0]).all()
    assert (corners[0] == 0).all() or task == "reacher-hard"


@pytest.mark.parametrize("task", TASKS)
def test_start_pictures_show_which_side_they_are_on(task):
    """Small tilts must stay visible: an exact policy could else only stand still."""
    env = make(task, size=53)
    symmetry = env.unwrapped.symmetry
    for seed in range(30):
        obs, _ = env.reset(seed=seed)
        for g in range(1, symmetry.group.order):
            assert not np.array_equal(symmetry.observation.act(g, obs), obs)


@pytest.mark.parametrize("task", ["acrobot-swingup", "ball_in_cup-catch", "reacher-hard"])
def test_gravity_is_not_visible(task):
    envs = [make(task, variant=variant) for variant in (None, "gravity")]
    first, second = (env.reset(seed=0)[0] for env in envs)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("task", TASKS)
def test_background_is_dm_controls_own_picture(task):
    """Against `physics.render`, in a process of its own as the two renderers must not meet."""
    domain = DOMAINS[task]
    script = (
        "import os, sys; os.environ.setdefault('MUJOCO_GL', 'egl');"
        "from dm_control import suite;"
        f"env = suite.load({domain.domain!r}, {domain.task!r}, task_kwargs={{'random': 3}});"
        "env.reset(); sys.stdout.buffer.write(env.physics.render(64, 64, camera_id=0).tobytes())"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    theirs = np.frombuffer(run.stdout, np.uint8).reshape(64, 64, 3)
    env = make(task, background=True, size=64, frame_stack=1)
    ours = env.reset(seed=3)[0]
    assert np.array_equal(ours, theirs)
    symmetry = env.unwrapped.symmetry
    moved = make(task, background=True, size=64, frame_stack=1)
    moved.unwrapped.set_state(env.unwrapped.transform(1, env.unwrapped.get_state()))
    picture = moved.step(np.zeros(env.action_space.shape))[0]
    expected = symmetry.observation.act(1, env.step(np.zeros(env.action_space.shape))[0])
    assert not np.array_equal(picture, expected)  # the background does not move along


def test_two_environments_share_a_process():
    """Each draws its own, in turns, whatever becomes of the other."""
    alone = make("reacher-hard").reset(seed=1)[0]
    first, second = make("reacher-hard"), make("acrobot-swingup", size=64)
    second.reset(seed=0)
    assert np.array_equal(first.reset(seed=1)[0], alone)
    second.close()
    del second
    assert np.array_equal(first.reset(seed=1)[0], alone)


def test_video_frames():
    env = make("cartpole-swingup", obs="state", render_mode="rgb_array")
    env.reset(seed=0)
    frame = env.render()
    assert frame.shape == (256, 256, 3)
    assert frame.dtype == np.uint8
    assert env.metadata["render_fps"] == 50
    assert make("cartpole-swingup", obs="state").render() is None
    with pytest.raises(UsageError, match="Unknown render mode"):
        make("cartpole-swingup").unwrapped.__class__("cartpole-swingup", render_mode="human")


PROCESSES = """
import os, sys
import gymnasium as gym, numpy as np
import nearsym.tasks.registry
def look(env):
    return env.reset(seed=1)[0]
alone = gym.make("nearsym/reacher-hard-v0", size=40)
expected = look(alone)                      # a context exists before the fork
for mode, kwargs in [("sync", {}), ("async", {"context": "fork"}), ("async", {"context": "spawn"})]:
    envs = gym.make_vec("nearsym/reacher-hard-v0", num_envs=2, vectorization_mode=mode,
                        vector_kwargs=kwargs, size=40)
    obs, _ = envs.reset(seed=[1, 2])
    assert np.array_equal(obs[0], expected), (mode, kwargs)
    assert not np.array_equal(obs[1], expected)
    for _ in range(3):
        obs, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert obs.shape == (2, 40, 40, 9)
    envs.close()
child = os.fork()
if child == 0:
    sys.exit(0 if np.array_equal(look(alone), expected) else 3)
assert os.waitpid(child, 0)[1] == 0
assert np.array_equal(look(alone), expected)
"""


def test_rendering_in_other_processes(tmp_path):
    """Gymnasium's vector environments and plain forks: no hanging, no noise at exit."""
    script = tmp_path / "processes.py"
    script.write_text(f"if __name__ == '__main__':\n{_indented(PROCESSES)}")
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")


def _indented(text):
    return "".join(f"    {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("off", "OpenGL does not start with MUJOCO_GL=off"),
        ("oszmesa", "Unknown value of MUJOCO_GL 'oszmesa'. Did you mean 'osmesa'"),
    ],
)
def test_no_opengl_names_the_packages(setting, message, monkeypatch):
    from nearsym.tasks.control import opengl

    monkeypatch.setenv("MUJOCO_GL", setting)
    with pytest.raises(UsageError, match=message) as error:
        opengl._context(8, 8)
    assert "libegl1 libgles2" in str(error.value) or setting == "oszmesa"


def test_a_missing_library_is_an_error_with_a_remedy(monkeypatch):
    from nearsym.tasks.control import opengl

    monkeypatch.setattr(opengl, "_is_there", lambda backend: False)
    monkeypatch.setenv("MUJOCO_GL", "egl")
    with pytest.raises(UsageError, match=r"\(its library is not there\). Install .* libosmesa6"):
        opengl.prepare()
    monkeypatch.delenv("MUJOCO_GL")
    opengl.prepare()  # found nothing, so states only
    with pytest.raises(UsageError, match="none was found"):
        opengl._context(8, 8)
