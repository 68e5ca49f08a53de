"""DrQ-v2 and SAC. They are handed networks and never ask which group or task they have.

>>> from nearsym.agents import DrQV2Config, linear_schedule
>>> config = DrQV2Config(std_steps=1000)
>>> linear_schedule(config.std_start, config.std_end, config.std_steps, step=500)
0.55
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.agents.augment import draw_shifts as draw_shifts
    from nearsym.agents.augment import shift_images as shift_images
    from nearsym.agents.base import Agent as Agent
    from nearsym.agents.base import Compute as Compute
    from nearsym.agents.base import Learner as Learner
    from nearsym.agents.batch import Batch as Batch
    from nearsym.agents.drqv2 import DrQV2 as DrQV2
    from nearsym.agents.drqv2 import DrQV2Config as DrQV2Config
    from nearsym.agents.losses import clipped_double_q_target as clipped_double_q_target
    from nearsym.agents.losses import linear_schedule as linear_schedule
    from nearsym.agents.losses import squashed_normal_log_prob as squashed_normal_log_prob
    from nearsym.agents.losses import squashed_normal_sample as squashed_normal_sample
    from nearsym.agents.losses import truncated_normal_sample as truncated_normal_sample
    from nearsym.agents.losses import twin_critic_loss as twin_critic_loss
    from nearsym.agents.rewards import RewardScale as RewardScale
    from nearsym.agents.sac import SAC as SAC
    from nearsym.agents.sac import SACConfig as SACConfig

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Agent": ".base",
        "Batch": ".batch",
        "Compute": ".base",
        "DrQV2": ".drqv2",
        "DrQV2Config": ".drqv2",
        "Learner": ".base",
        "RewardScale": ".rewards",
        "SAC": ".sac",
        "SACConfig": ".sac",
        "clipped_double_q_target": ".losses",
        "draw_shifts": ".augment",
        "linear_schedule": ".losses",
        "shift_images": ".augment",
        "squashed_normal_log_prob": ".losses",
        "squashed_normal_sample": ".losses",
        "truncated_normal_sample": ".losses",
        "twin_critic_loss": ".losses",
    },
)
