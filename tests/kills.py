"""How many processes the slow tests kill at random moments.

`NEARSYM_KILLS` is the number in all, 100 unless somebody has the hours for more: six tenths of them
hit single runs, the same number of each kind, and the rest the drivers and workers of a study.
"""

import math
import os

KILLS = int(os.environ.get("NEARSYM_KILLS", "100"))
IN_A_ROW = 10  # of one run, from its start to its end


def rounds(kinds: int) -> int:
    """How many runs of each kind are killed, each so often in a row."""
    return max(1, math.ceil(0.6 * KILLS / (kinds * IN_A_ROW)))


def of_a_study(kinds: int) -> int:
    """How many kills are left for the study."""
    return max(1, KILLS - rounds(kinds) * kinds * IN_A_ROW)
