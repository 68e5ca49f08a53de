"""Finite Markov decision processes with a group action: metrics and bounds. Numpy, no torch."""
