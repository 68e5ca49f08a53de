"""Measures of functions and networks: equivariance errors, layer by layer, relaxed weights."""
