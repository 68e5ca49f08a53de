"""The training loop and what it stands on: replay, log, checkpoints, callbacks.

`nearsym.train` puts these together for a task. By hand, for an environment of one's own:

>>> import tempfile
>>> from pathlib import Path
>>> import gymnasium, numpy as np, torch
>>> from nearsym.agents import SAC, Compute, SACConfig
>>> from nearsym.groups.catalog import dihedral
>>> from nearsym.groups.representation import sign, trivial_of
>>> from nearsym.groups.symmetry import Symmetry
>>> from nearsym.networks.build import build_actor_critic
>>> from nearsym.networks.config import NetworkConfig
>>> from nearsym.training import CheckpointStore, Replay, RunLog, Trainer, TrainingConfig, rollouts

A pendulum, whose mirror image swings the other way: (cos, sin, speed) and torque.

>>> mirror = dihedral(1)
>>> symmetry = Symmetry(trivial_of(mirror) + 2 * sign(mirror), sign(mirror))
>>> sizes = NetworkConfig(model="approx", channels=4, hidden=16)
>>> agent = SAC(
...     build_actor_critic(symmetry, (3,), "sac", sizes),
...     SACConfig(),
...     compute=Compute(torch.device("cpu"), bfloat16=False),
...     generator=torch.Generator().manual_seed(0),
... )

A run of 200 frames in a folder of its own, evaluated at its end:

>>> def evaluate(on_step):
...     env = gymnasium.make("Pendulum-v1", max_episode_steps=20)
...     played = rollouts(agent.policy, env, episodes=2, seed=7, on_step=on_step)
...     return {"eval/returns": [episode.total for episode in played]}
>>> folder = tempfile.TemporaryDirectory()
>>> replay = Replay(capacity=1000, obs_shape=(3,), obs_dtype=np.float32, action_size=1)
>>> trainer = Trainer(
...     env=gymnasium.make("Pendulum-v1"),
...     agent=agent,
...     replay=replay,
...     evaluate=evaluate,
...     log=RunLog(Path(folder.name)),
...     store=CheckpointStore(Path(folder.name) / "checkpoints", replay=replay),
...     config=TrainingConfig(frames=200, seed_frames=100, batch_size=16),
...     rng=np.random.default_rng(0),
...     first_seed=0,
...     arithmetic={},
... )
>>> trainer.run().frames
200
>>> trainer.log.close()
>>> folder.cleanup()
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.training.atomic import DiskError as DiskError
    from nearsym.training.callbacks import Callback as Callback
    from nearsym.training.callbacks import Callbacks as Callbacks
    from nearsym.training.callbacks import Progress as Progress
    from nearsym.training.callbacks import ProgressBar as ProgressBar
    from nearsym.training.checkpoint import CheckpointStore as CheckpointStore
    from nearsym.training.checkpoint import CheckpointWarning as CheckpointWarning
    from nearsym.training.config import TrainingConfig as TrainingConfig
    from nearsym.training.config import check_learns as check_learns
    from nearsym.training.evaluate import Episode as Episode
    from nearsym.training.evaluate import rollouts as rollouts
    from nearsym.training.log import RunLog as RunLog
    from nearsym.training.log import read_metrics as read_metrics
    from nearsym.training.loop import DivergedError as DivergedError
    from nearsym.training.loop import Interrupted as Interrupted
    from nearsym.training.loop import Trainer as Trainer
    from nearsym.training.loop_state import LoopState as LoopState
    from nearsym.training.random_state import generator_state as generator_state
    from nearsym.training.random_state import pack_generator as pack_generator
    from nearsym.training.random_state import set_generator_state as set_generator_state
    from nearsym.training.random_state import unpack_generator as unpack_generator
    from nearsym.training.replay import Replay as Replay
    from nearsym.training.runlock import RunLock as RunLock
    from nearsym.training.storage import CorruptError as CorruptError

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Callback": ".callbacks",
        "Callbacks": ".callbacks",
        "CheckpointStore": ".checkpoint",
        "CheckpointWarning": ".checkpoint",
        "CorruptError": ".storage",
        "DiskError": ".atomic",
        "DivergedError": ".loop",
        "Episode": ".evaluate",
        "Interrupted": ".loop",
        "LoopState": ".loop_state",
        "Progress": ".callbacks",
        "ProgressBar": ".callbacks",
        "Replay": ".replay",
        "RunLock": ".runlock",
        "RunLog": ".log",
        "Trainer": ".loop",
        "TrainingConfig": ".config",
        "check_learns": ".config",
        "generator_state": ".random_state",
        "pack_generator": ".random_state",
        "read_metrics": ".log",
        "rollouts": ".evaluate",
        "set_generator_state": ".random_state",
        "unpack_generator": ".random_state",
    },
)
