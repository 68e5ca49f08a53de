"""The paper's claims, and four of ours, judged by result files.

| file | what it is for |
|---|---|
| `claim.py` | questions, and how their answers make a verdict |
| `evidence.py` | the runs of one scale, and what is asked of them |
| `control.py`, `weights.py`, `portfolios.py`, `ours.py` | claims that runs decide |
| `computed.py` | claims that a computation decides |
| `judge.py` | all of them |
"""
