"""Tables of results, for people, papers and programs.

| file | what it is for |
|---|---|
| `table.py` | a table as a value; Markdown, LaTeX, JSON |
| `returns.py` | returns of worlds and models, with and without noise, beside the paper's |
| `regrets.py` | regret, aggregates over worlds, strength sweeps |
| `costs.py` | what was run, parameters, time |
| `trading.py` | portfolios, beside the paper's |
| `verdicts.py` | claims |
| `all.py` | all of them, by name and by study |
"""
