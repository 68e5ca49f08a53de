"""The training loop, with an agent and an environment that keep a diary."""

import copy
import math
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.wrappers import TimeLimit
from torch import nn

from nearsym.errors import UsageError
from nearsym.networks.actor_critic import ActorCritic
from nearsym.training.callbacks import Callback
from nearsym.training.config import TrainingConfig
from nearsym.training.log import RunLog, read_metrics
from nearsym.training.loop import DivergedError, Interrupted, Trainer
from nearsym.training.replay import Replay

EPISODE = 5


class Walk(gymnasium.Env):
    """A random walk that the action pushes; two frames a step. It can be made to fail."""

    def __init__(self, *, bad_step=None, bad="reward", terminates=False):
        self.bad_step, self.bad, self.terminates = bad_step, bad, terminates
        self.total = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.steps = self.np_random.normal(size=2), 0
        return self.look(), {}

    def step(self, action):
        self.total += 1
        self.steps += 1
        self.place = self.place + 0.1 * action[0] + 0.01 * self.np_random.normal(size=2)
        obs, reward = self.look(), float(self.place[0])
        if self.total == self.bad_step and self.bad == "reward":
            reward = math.nan
        if self.total == self.bad_step and self.bad == "observation":
            obs = np.full(2, np.inf, np.float32)
        over = self.steps == EPISODE
        ends = (over, False) if self.terminates else (False, over)
        return obs, reward, *ends, {"environment_steps": 2}

    def look(self):
        return self.place.astype(np.float32)

    def get_state(self):
        state = self.np_random.bit_generator.state
        return {
            "place": self.place.copy(),
            "steps": self.steps,
            "total": self.total,
            "random": [str(state["state"]["state"]), str(state["state"]["inc"])],
        }

    def set_state(self, state):
        self.place, self.steps, self.total = state["place"].copy(), state["steps"], state["total"]
        whole = self.np_random.bit_generator.state
        whole["state"] = dict(zip(("state", "inc"), map(int, state["random"]), strict=True))
        self.np_random.bit_generator.state = whole


class Diary:
    """An agent that acts at random, sums what it is given, and writes down when."""

    def __init__(self, *, bad_update=None, bad_action=None):
        self.generator = torch.Generator().manual_seed(0)
        self.networks = ActorCritic(nn.Identity(), nn.Linear(1, 1), nn.Identity(), action_size=1)
        self.seen = 0.0
        self.acts, self.updates = [], []
        self.bad_update, self.bad_action = bad_update, bad_action

    def act(self, obs, *, step):
        self.acts.append(step)
        action = 2 * torch.rand(1, generator=self.generator).numpy() - 1
        return action * math.nan if len(self.acts) == self.bad_action else action

    def update(self, batch, *, step):
        self.updates.append(step)
        self.seen += float(batch.reward.sum() + batch.obs.sum())
        loss = math.nan if len(self.updates) == self.bad_update else self.seen
        return {"critic/loss": torch.tensor(1.0), "actor/loss": torch.tensor(loss)}

    def state_dict(self):
        return {"generator": self.generator.get_state(), "seen": self.seen}

    def load_state_dict(self, state):
        self.generator.set_state(state["generator"])
        self.seen = state["seen"]


class Shelf:
    """A store in memory that keeps every save, replay included."""

    def __init__(self, replay, folder):
        self.replay, self.folder = replay, folder
        self.saved = {}
        self.best = []

    def save(self, state, frames, *, best=False):
        self.saved[frames] = copy.deepcopy(state) | {"replay": self.replay.commit(self.folder)}
        if best:
            self.best.append(frames)
        return self.folder / str(frames)


def small(**changes):
    options = {"frames": 60, "seed_frames": 10, "update_every": 2, "batch_size": 4, "nstep": 2}
    options |= {"replay_capacity": 100, "eval_every": 20, "checkpoint_every": 30}
    return TrainingConfig(**options | changes)


def make(
    folder,
    *,
    env=None,
    agent=None,
    config=None,
    stop=lambda: False,
    scores=None,
    at=0,
    threads=1,
    callbacks=(),
):
    folder.mkdir(exist_ok=True)
    replay = Replay(
        capacity=100, obs_shape=(2,), obs_dtype=np.float32, action_size=1, nstep=2, discount=0.9
    )
    returns = iter(scores) if scores is not None else None
    agent = Diary() if agent is None else agent

    def evaluate(on_step):
        on_step()
        return {"eval/returns": [agent.seen] if returns is None else next(returns)}

    return Trainer(
        env=Walk() if env is None else env,
        agent=agent,
        replay=replay,
        evaluate=evaluate,
        log=RunLog(folder, position=at),
        store=Shelf(replay, folder / "replay"),
        config=small() if config is None else config,
        rng=np.random.default_rng(1),
        first_seed=3,
        arithmetic={"threads": threads},
        stop_requested=stop,
        callbacks=callbacks,
    )


def go(trainer):
    try:
        return trainer.run()
    finally:
        trainer.log.close()


def rows(folder):
    found = read_metrics(folder / "metrics.jsonl")
    return [{k: v for k, v in row.items() if not k.startswith("time/")} for row in found]


def test_frames_are_environment_steps_and_updates_wait(tmp_path):
    trainer = make(tmp_path)
    state = go(trainer)
    assert state.frames == 60
    assert state.step == 30
    assert trainer.agent.acts == list(range(30))
    assert trainer.agent.updates == list(range(6, 31, 2))  # frames ≥ 10, every second step


def test_environments_without_a_count_take_one_frame_a_step(tmp_path):
    class Plain(Walk):
        def step(self, action):
            return *super().step(action)[:4], {}

    assert go(make(tmp_path, env=Plain())).step == 60


def test_the_log_has_episodes_evaluations_and_times(tmp_path):
    go(make(tmp_path))
    found = read_metrics(tmp_path / "metrics.jsonl")
    episodes = [row for row in found if "train/return" in row]
    evaluations = [row for row in found if "eval/return_mean" in row]
    assert [row["frames"] for row in episodes] == [10, 20, 30, 40, 50, 60]
    assert [row["frames"] for row in evaluations] == [20, 40, 60]
    assert episodes[-1].keys() >= {"time/seconds", "time/frames_per_second"}
    assert episodes[-1].keys() >= {"critic/loss", "actor/loss"}
    assert "critic/loss" not in episodes[0]  # no update yet


def test_logged_losses_are_means_since_the_last_episode(tmp_path):
    trainer = make(tmp_path)
    go(trainer)
    episodes = [row for row in rows(tmp_path) if "train/return" in row]
    assert all(row["critic/loss"] == 1.0 for row in episodes[1:])


def test_episode_returns_add_up(tmp_path):
    rewards = []

    class Noted(Walk):
        def step(self, action):
            result = super().step(action)
            rewards.append(result[1])
            return result

    go(make(tmp_path, env=Noted()))
    returns = [row["train/return"] for row in rows(tmp_path) if "train/return" in row]
    assert returns == pytest.approx(np.reshape(rewards, (6, EPISODE)).sum(axis=1))


def test_best_and_final_return(tmp_path):
    trainer = make(tmp_path, scores=[[1.0, 3.0], [8.0, 4.0], [5.0, 5.0]])
    state = go(trainer)
    assert state.best_return == 6.0
    assert state.final_return == 5.0
    assert trainer.store.best == [20, 40]
    assert set(trainer.store.saved) == {20, 30, 40, 60}


def test_terminations_and_time_limits_differ(tmp_path):
    for terminates, expected in ((True, 0.0), (False, 0.9)):
        trainer = make(tmp_path / str(terminates), env=Walk(terminates=terminates))
        go(trainer)
        replay = trainer.replay
        batch = replay.sample(500, np.random.default_rng(0))
        shortest = {round(float(d), 6) for d in batch.discount}
        assert shortest == {0.81, expected}


def test_the_same_seeds_give_the_same_run(tmp_path):
    for name in ("a", "b"):
        go(make(tmp_path / name))
    assert rows(tmp_path / "a") == rows(tmp_path / "b")


class Witness(Callback):
    """Writes down every event; asks to stop at given frames."""

    def __init__(self, stop_at=()):
        self.events, self.stop_at = [], stop_at

    def on_start(self, progress):
        self.events.append(("start", progress.frames))

    def on_step(self, progress):
        self.events.append(("step", progress.frames))

    def on_evaluation(self, progress, metrics):
        self.events.append(("evaluation", progress.frames, metrics["eval/return_mean"], progress))
        return progress.frames in self.stop_at

    def on_checkpoint(self, progress, path):
        self.events.append(("checkpoint", progress.frames, path.name))

    def on_end(self, progress):
        self.events.append(("end", progress.frames))

    def of(self, kind):
        return [event[1:] for event in self.events if event[0] == kind]


def test_callbacks_are_told_everything_in_order(tmp_path):
    witness, second = Witness(), Witness()
    go(make(tmp_path, scores=[[1.0, 3.0], [8.0], [5.0]], callbacks=[witness, second]))
    assert witness.events == second.events
    assert witness.of("step") == [(frames,) for frames in range(2, 61, 2)]
    assert [event[:2] for event in witness.of("evaluation")] == [(20, 2.0), (40, 8.0), (60, 5.0)]
    assert witness.of("checkpoint") == [(20, "20"), (30, "30"), (40, "40"), (60, "60")]
    assert witness.events[0] == ("start", 0)
    assert witness.events[-1] == ("end", 60)


def test_progress_shows_returns_and_losses(tmp_path):
    witness = Witness()
    go(make(tmp_path, scores=[[1.0], [8.0], [5.0]], callbacks=[witness]))
    first, *_, last = (event[2] for event in witness.of("evaluation"))
    assert (last.frames, last.total, last.last_return, last.best_return) == (60, 60, 5.0, 8.0)
    assert last.shown.items() >= {"return": "5", "best": "8", "critic/loss": "1"}.items()
    assert first.shown["return"] == "1"  # what was handed over does not change afterwards


def test_watching_changes_no_number(tmp_path):
    go(make(tmp_path / "alone"))
    go(make(tmp_path / "watched", callbacks=[Witness()]))
    assert rows(tmp_path / "alone") == rows(tmp_path / "watched")


def test_a_callback_ends_the_run_and_resuming_goes_on(tmp_path):
    go(make(tmp_path / "whole"))
    witness = Witness(stop_at=[40])
    first = make(tmp_path / "cut", scores=None, callbacks=[Witness(), witness])
    state = go(first)
    assert state.frames == 40
    assert witness.events[-2:] == [("checkpoint", 40, "40"), ("end", 40)]
    saved = first.store.saved[40]
    second = make(tmp_path / "cut", at=saved["log"])
    second.replay.restore(saved["replay"], tmp_path / "cut" / "replay")
    second.load_state_dict(saved)
    assert go(second).frames == 60
    assert rows(tmp_path / "cut") == rows(tmp_path / "whole")


def test_a_run_that_a_callback_ended_can_be_run_on(tmp_path):
    trainer = make(tmp_path, callbacks=[Witness(stop_at=[20])])
    assert trainer.run().frames == 20
    assert go(trainer).frames == 60


def test_an_end_without_improvement_is_saved_but_not_as_the_best(tmp_path):
    trainer = make(tmp_path, scores=[[8.0], [1.0]], callbacks=[Witness(stop_at=[40])])
    assert go(trainer).final_return == 1.0
    assert 40 in trainer.store.saved
    assert trainer.store.best == [20]


def test_callbacks_hear_of_the_end_of_a_run_that_fails(tmp_path):
    witness = Witness()
    with pytest.raises(DivergedError):
        go(make(tmp_path, env=Walk(bad_step=13), callbacks=[witness]))
    assert witness.events[-1] == ("end", 26)


@pytest.mark.parametrize("cut", [14, 20, 30, 44])
@pytest.mark.parametrize("around", [lambda env: env, lambda env: TimeLimit(env, 3)])
def test_resuming_gives_the_rest_bit_for_bit(tmp_path, cut, around):
    go(make(tmp_path / "whole", env=around(Walk())))
    first = make(tmp_path / "cut", env=around(Walk()), stop=lambda: first.state.frames >= cut)
    with pytest.raises(Interrupted):
        go(first)
    assert max(first.store.saved) == cut
    saved = first.store.saved[cut]
    second = make(tmp_path / "cut", env=around(Walk()), agent=Diary(), at=saved["log"])
    second.replay.restore(saved["replay"], tmp_path / "cut" / "replay")
    second.load_state_dict(saved)
    go(second)
    assert rows(tmp_path / "cut") == rows(tmp_path / "whole")


def test_other_arithmetic_is_refused(tmp_path):
    first = make(tmp_path / "run")
    go(first)
    saved = first.store.saved[max(first.store.saved)]
    other = make(tmp_path / "other", threads=2)
    with pytest.raises(UsageError, match="begun with threads 1 and is to continue with 2"):
        other.load_state_dict(saved)
    other.log.close()


def test_an_interrupted_evaluation_is_made_up_for(tmp_path):
    """The request comes while an evaluation is under way: nothing of it is in the log yet."""
    flag = SimpleNamespace(stop=False)
    trainer = make(tmp_path, stop=lambda: flag.stop)
    inner = trainer.evaluate

    def evaluate(on_step):
        flag.stop = True
        return inner(on_step)

    trainer.evaluate = evaluate
    with pytest.raises(Interrupted, match="saved at frame 20"):
        go(trainer)
    assert not any("eval/return_mean" in row for row in rows(tmp_path))
    saved = trainer.store.saved[20]
    assert saved["loop"]["evaluation_due"]


def test_an_environment_without_state_starts_a_new_episode(tmp_path):
    trainer = make(tmp_path, stop=lambda: trainer.state.frames >= 14)
    with pytest.raises(Interrupted):
        go(trainer)
    saved = trainer.store.saved[14] | {"environment": None}
    other = make(tmp_path, at=saved["log"])
    other.replay.restore(saved["replay"], tmp_path / "replay")
    other.load_state_dict(saved)
    assert other.state.frames == 14
    assert other.state.episode_return == 0.0
    assert go(other).frames == 60


@pytest.mark.parametrize("bad", ["reward", "observation"])
def test_a_bad_number_from_the_environment_is_named(tmp_path, bad):
    with pytest.raises(DivergedError, match=f"{bad} is not finite at frame 26"):
        go(make(tmp_path, env=Walk(bad_step=13, bad=bad)))


def test_a_bad_first_observation_is_named(tmp_path):
    class Broken(Walk):
        def look(self):
            return np.full(2, np.nan, np.float32)

    with pytest.raises(DivergedError, match="observation is not finite at frame 0"):
        go(make(tmp_path, env=Broken()))


def test_a_bad_loss_is_named(tmp_path):
    with pytest.raises(DivergedError, match="actor/loss is not finite at frame 16"):
        go(make(tmp_path, agent=Diary(bad_update=2)))


def test_a_bad_action_is_named_before_the_environment_sees_it(tmp_path):
    env = Walk()
    with pytest.raises(DivergedError, match="action is not finite at frame 12"):
        go(make(tmp_path, env=env, agent=Diary(bad_action=7)))
    assert env.total == 6


def test_a_diverged_run_keeps_its_last_checkpoint(tmp_path):
    trainer = make(tmp_path, env=Walk(bad_step=25))
    with pytest.raises(DivergedError, match="Its checkpoints are from before"):
        go(trainer)
    assert max(trainer.store.saved) == 40
