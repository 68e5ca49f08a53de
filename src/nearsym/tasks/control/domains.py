"""The control domains there are; each has its own file."""

from nearsym.tasks.control.acrobot import ACROBOT
from nearsym.tasks.control.ball_in_cup import BALL_IN_CUP
from nearsym.tasks.control.cartpole import CARTPOLE
from nearsym.tasks.control.reacher import REACHER

DOMAINS = {d.name: d for d in (ACROBOT, CARTPOLE, BALL_IN_CUP, REACHER)}
