"""What an isometry of space does to a MuJoCo model that it maps to itself.

An orthogonal R carries body b to body π(b), and with it everything that belongs to it: axes of
slides by R, axes of hinges by det(R)·R (they are turns), and so the signs of joints, velocities,
controls and forces. Where R alone does not say which body goes where (two legs that stand in one
plane), names do.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from nearsym.errors import UsageError
from nearsym.physics.model import FREE, HINGE, SLIDE, mujoco, reference_positions
from nearsym.physics.signed import SignedPermutation, of_matrix

CLOSE = 1e-3
"""How far images of bodies and axes may miss, in metres."""


class BodyMove(NamedTuple):
    """How everything in a model moves under one isometry."""

    isometry: np.ndarray
    bodies: np.ndarray
    """For each body, the one it comes from."""
    qpos: SignedPermutation
    qvel: SignedPermutation
    ctrl: SignedPermutation

    def vectors(self) -> np.ndarray:
        """How a velocity or a force moves."""
        return self.isometry

    def turns(self) -> np.ndarray:
        """How a turning speed or a torque moves."""
        return round(np.linalg.det(self.isometry)) * self.isometry

    def spatial(self) -> np.ndarray:
        """How MuJoCo's six numbers of a body move: turning first, then along."""
        return blocks([self.turns(), self.vectors()])

    def inertia(self) -> np.ndarray:
        """How the ten numbers of a body's inertia move: xx yy zz xy xz yz, mass·offset, mass."""
        pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
        second = np.zeros((6, 6))
        for column, (i, j) in enumerate(pairs):
            tensor = np.zeros((3, 3))
            tensor[i, j] = tensor[j, i] = 1.0
            moved = self.isometry @ tensor @ self.isometry.T
            second[:, column] = [moved[pair] for pair in pairs]
        return blocks([second, self.isometry, np.eye(1)])

    def per_body(self, block: np.ndarray) -> np.ndarray:
        """How an array with one row for each body but the world moves, flattened."""
        n, size = len(self.bodies) - 1, len(block)
        matrix = np.zeros((n * size, n * size))
        for b, source in enumerate(self.bodies[1:] - 1):
            matrix[b * size : (b + 1) * size, source * size : (source + 1) * size] = block
        return matrix


def body_move(
    model: Any, isometry: np.ndarray, partners: Mapping[str, str] | None = None
) -> BodyMove:
    """How a model moves under an isometry; `partners` names bodies that change places.

    Refuses an isometry under which a body, a joint or a motor has no image.
    """
    data = mujoco().MjData(model)
    data.qpos[:] = reference_positions(model)
    mujoco().mj_forward(model, data)
    image = _images(model, data, isometry, partners or {})
    joints = [_joint_image(model, data, isometry, image, j) for j in range(model.njnt)]
    bodies = np.empty(model.nbody, dtype=int)
    bodies[image] = np.arange(model.nbody)
    qpos, qvel = np.zeros((model.nq,) * 2), np.zeros((model.nv,) * 2)
    for j, (k, sign) in enumerate(joints):
        for matrix, address, block in _joint_parts(model, isometry, j, sign):
            rows, columns = address[k], address[j]
            matrix_of = {"q": qpos, "v": qvel}[matrix]
            matrix_of[rows : rows + len(block), columns : columns + len(block)] = block
    ctrl = _controls(model, joints)
    return BodyMove(isometry, bodies, *(_signed(m, model) for m in (qpos, qvel, ctrl)))


def _images(model: Any, data: Any, isometry: np.ndarray, partners: Mapping[str, str]) -> np.ndarray:
    """Where each body goes: to the one that is named, or to the one that stands at its image."""
    names = [model.body(b).name for b in range(model.nbody)]
    both = {**partners, **{v: k for k, v in partners.items()}}
    image = np.empty(model.nbody, dtype=int)
    for b in range(model.nbody):
        if both:
            image[b] = names.index(both.get(names[b], names[b]))
            continue
        place = data.xpos[b] @ isometry.T
        far = np.linalg.norm(data.xpos - place, axis=1)
        near = [
            int(c) for c in np.flatnonzero(far < CLOSE) if _depth(model, int(c)) == _depth(model, b)
        ]
        if not near:
            raise UsageError(f"The isometry takes the body {names[b]!r} where no other one is.")
        image[b] = b if b in near else near[0]
    return image


def _depth(model: Any, body: int) -> int:
    return 0 if body == 0 else 1 + _depth(model, int(model.body_parentid[body]))


def _joint_image(
    model: Any, data: Any, isometry: np.ndarray, image: np.ndarray, j: int
) -> tuple[int, float]:
    """The joint that joint j becomes, and with which sign."""
    kind, body = int(model.jnt_type[j]), int(model.jnt_bodyid[j])
    first = int(model.body_jntadr[image[body]])
    others = range(first, first + int(model.body_jntnum[image[body]]))
    if kind == FREE:
        return first, 1.0
    turn = round(np.linalg.det(isometry)) if kind == HINGE else 1
    axis = turn * isometry @ data.xaxis[j]
    for k in others:
        for sign in (1.0, -1.0):
            if model.jnt_type[k] == kind and np.abs(sign * data.xaxis[k] - axis).max() < CLOSE:
                return k, sign
    raise UsageError(f"Under the isometry the joint {model.joint(j).name!r} has no image.")


def _joint_parts(
    model: Any, isometry: np.ndarray, j: int, sign: float
) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Parts of the matrices for positions and velocities: which, where joints begin, and what."""
    q, v = model.jnt_qposadr, model.jnt_dofadr
    if model.jnt_type[j] in (SLIDE, HINGE):
        return [("q", q, np.array([[sign]])), ("v", v, np.array([[sign]]))]
    turns = round(np.linalg.det(isometry)) * isometry
    free = blocks([isometry, np.eye(1), turns])
    return [("q", q, free), ("v", v, blocks([isometry, turns]))]


def _controls(model: Any, joints: list[tuple[int, float]]) -> np.ndarray:
    driven = [int(joint) for joint in model.actuator_trnid[:, 0]]
    matrix = np.zeros((model.nu, model.nu))
    for i, j in enumerate(driven):
        image, sign = joints[j]
        if image not in driven:
            raise UsageError(f"The joint {model.joint(image).name!r} has no motor, its image has.")
        k = driven.index(image)
        matrix[k, i] = sign * np.sign(model.actuator_gear[i, 0] * model.actuator_gear[k, 0])
    return matrix


def _signed(matrix: np.ndarray, model: Any) -> SignedPermutation:
    signed = of_matrix(matrix)
    if signed is None:
        raise UsageError("The isometry is no signed permutation of the model's coordinates.")
    return signed


def blocks(parts: Sequence[np.ndarray]) -> np.ndarray:
    """A matrix with these along its diagonal."""
    size = sum(len(part) for part in parts)
    matrix, at = np.zeros((size, size)), 0
    for part in parts:
        matrix[at : at + len(part), at : at + len(part)] = part
        at += len(part)
    return matrix
