"""How many processes the slow tests kill at random moments.

`NEARSYM_KILLS` is the number in all, 100 unless somebody has an hour for 1,000: six tenths of them
or a little more hit single runs, the same number of each kind, and the rest the drivers and workers
of studies.
"""

import math
import os

KILLS = int(os.environ.get("NEARSYM_KILLS", "100"))
KINDS = 8  # of single runs
IN_A_ROW = 10  # of one run, from its start to its end
ROUNDS = max(1, math.ceil(0.6 * KILLS / (KINDS * IN_A_ROW)))
"""How many runs of each kind are killed, each so often in a row."""
OF_STUDIES = max(1, KILLS - ROUNDS * KINDS * IN_A_ROW)
