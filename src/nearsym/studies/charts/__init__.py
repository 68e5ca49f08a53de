"""What is drawn, as values: the page draws them for the screen, matplotlib for papers.

| file | what it is for |
|---|---|
| `chart.py` | lines, bands and dots with their axes |
| `curves.py` | learning curves over frames and over time, performance profiles |
| `maps.py` | return, regret and the audit's ε over a variant's strength |
| `weights.py` | relaxed weights by layer and element |
| `trading.py` | portfolios over the test part, weights of days and scales |
| `all.py` | all of them, by name and by study |
"""
