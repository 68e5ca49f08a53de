"""Equivariant layers, exact and relaxed: the mathematics of the paper as torch modules."""
