"""Finite and planar groups, their representations, and what a symmetry of a task is.

Everything here is numpy and works on numpy arrays and torch tensors alike; nothing imports torch.
"""
