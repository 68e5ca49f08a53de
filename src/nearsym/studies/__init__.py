"""Grids of runs, and what they say: the tables, figures and claims of the paper, and one's own.

| file | what it is for |
|---|---|
| `study.py`, `builtin.py`, `files.py` | a study as a value; the paper's; one's own |
| `plan.py` | cells into configurations, checked before anything runs |
| `pool.py`, `hold.py`, `job.py`, `kept.py` | where runs lie, who works on one, what is kept |
| `schedule.py`, `workers.py`, `cluster.py`, `execute.py` | which run when, and where it is made |
| `display.py`, `rates.py` | what people see while it runs, how long it will take |
| `results.py` | what is kept of a run |
"""
