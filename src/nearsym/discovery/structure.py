"""Moves that a MuJoCo model's bodies and joints suggest, whatever its masses and motors are."""

from itertools import permutations, product
from typing import Any

import numpy as np

from nearsym.audits.moves import Entries, Move
from nearsym.errors import UsageError
from nearsym.physics.body import body_move
from nearsym.physics.signed import SignedPermutation


def suggested_moves(model: Any, entries: Entries, actions: int) -> list[Move]:
    """One move for each isometry of the axes that takes all bodies and joints to others."""
    keys = {key for key, _ in entries.places}
    if keys != {"qpos", "qvel"} or model.nu != actions or len(entries) != model.nq + model.nv:
        return []
    moves = []
    for isometry in _isometries():
        try:
            found = body_move(model, isometry)
        except UsageError:
            continue
        source = np.concatenate([found.qpos.source, model.nq + found.qvel.source])
        sign = np.concatenate([found.qpos.sign, found.qvel.sign])
        moves.append(Move(SignedPermutation(source, sign), (0,) * len(entries), found.ctrl))
    return moves


def _isometries() -> list[np.ndarray]:
    """The 48 signed permutations of the three axes."""
    return [
        np.diag(signs) @ np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
