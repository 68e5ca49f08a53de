"""Grids of runs, and what they say: the tables, figures and claims of the paper, and one's own."""
