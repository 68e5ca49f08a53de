"""Finite and planar groups, their representations, and what a symmetry of a task is.

Everything here is numpy and works on numpy arrays and torch tensors alike; nothing imports torch.

>>> from nearsym.groups import Symmetry, dihedral
>>> mirror = dihedral(1)
>>> Symmetry(observation=mirror.diagonal({"mirror_x": [-1, 1]}), action=mirror.sign())
Symmetry(D1: observation diagonal, action sign)
"""

from nearsym.groups.action import Action, ImageAction, Invariant, Together
from nearsym.groups.catalog import cyclic, dihedral, product, trivial
from nearsym.groups.declared import Declared
from nearsym.groups.group import FiniteGroup
from nearsym.groups.lattice import subgroups
from nearsym.groups.planar import PlanarGroup, PlanarRepresentation, o2, so2
from nearsym.groups.representation import Representation
from nearsym.groups.symmetry import Symmetry, TimeSymmetry, symmetry_of

__all__ = [
    "Action",
    "Declared",
    "FiniteGroup",
    "ImageAction",
    "Invariant",
    "PlanarGroup",
    "PlanarRepresentation",
    "Representation",
    "Symmetry",
    "TimeSymmetry",
    "Together",
    "cyclic",
    "dihedral",
    "o2",
    "product",
    "so2",
    "subgroups",
    "symmetry_of",
    "trivial",
]
