"""SiT: what its tokens know of the arrangement of patches."""

import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import sign
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import NetworkConfig, build_actor_critic
from nearsym.networks.sit import SiTEncoder, SymmetricAttention

PATCH, WIDTH = 8, 64
MOVES = {
    "flip width": lambda grid: grid.flip(2),
    "flip height": lambda grid: grid.flip(1),
    "quarter turn": lambda grid: grid.rot90(1, (1, 2)),
}


@pytest.fixture
def encoder():
    encoder = SiTEncoder(48, 3).double()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # away from any special start
    return encoder


@pytest.fixture
def grid():
    """Patches by row and column, (batch, rows, columns, height, width, channels)."""
    return torch.randint(0, 256, (3, 6, 6, PATCH, PATCH, 3), dtype=torch.uint8)


def picture(grid):
    """Patches put together: (batch, rows·height, columns·width, channels)."""
    batch, rows, columns = grid.shape[:3]
    return grid.transpose(2, 3).reshape(batch, rows * PATCH, columns * PATCH, 3)


def tokens(encoder, grid):
    return encoder(picture(grid)).unflatten(-1, (-1, WIDTH)).squeeze(1)


@pytest.mark.parametrize("move", MOVES)
def test_class_token_is_invariant_and_patch_tokens_move(encoder, grid, move):
    before, after = tokens(encoder, grid), tokens(encoder, MOVES[move](grid))
    assert (before[:, 0] - after[:, 0]).abs().max() < 1e-10
    moved = MOVES[move](before[:, 1:].unflatten(1, (6, 6)))
    assert (moved.flatten(1, 2) - after[:, 1:]).abs().max() < 1e-10
    assert (before[:, 1:] - after[:, 1:]).abs().max() > 1e-2


def test_other_rearrangements_are_seen(encoder, grid):
    """It is the radial convolutions that see places: without them any shuffle would do."""
    shuffled = grid[:, torch.tensor([1, 0, 2, 3, 4, 5])]
    gap = tokens(encoder, grid)[:, 0] - tokens(encoder, shuffled)[:, 0]
    assert gap.abs().max() > 1e-4


def test_attention_is_that_of_symmetrised_scores():
    attention = SymmetricAttention(8, 2, grid=3).double()
    with torch.no_grad():
        attention.radial.normal_()
    x = torch.randn(4, 10, 8, dtype=torch.float64)
    query, key, value = attention.project(x).chunk(3, dim=-1)
    query, key = attention._radial_conv(query, 0), attention._radial_conv(key, 1)
    heads = []
    for head in (slice(0, 4), slice(4, 8)):
        scores = query[..., head] @ key[..., head].mT / 2.0  # √4
        heads.append(torch.softmax(scores + scores.mT, dim=-1) @ value[..., head])
    slow = attention.out(torch.cat(heads, dim=-1))
    assert torch.allclose(attention(x), slow, atol=1e-12)


def test_an_actor_on_top_can_turn_its_action_over():
    group = dihedral(1)
    symmetry = Symmetry(ImageAction(group, height=-3, width=-2), sign(group))
    config = NetworkConfig(model="sit", hidden=32, waist=16)
    networks = build_actor_critic(symmetry, (64, 64, 9), "drqv2", config)
    obs = torch.randint(0, 256, (4, 64, 64, 9), dtype=torch.uint8)
    here = networks.actor(networks.encoder(obs))
    mirrored = networks.actor(networks.encoder(obs.flip(2)))
    assert (here - mirrored).abs().max() > 1e-3


def test_the_number_of_tokens_decides_the_features():
    encoder = SiTEncoder(40, 9)
    out = encoder(torch.zeros(2, 40, 40, 9, dtype=torch.uint8))
    assert out.shape == (2, 1, WIDTH * 26)
    assert encoder.features == WIDTH * 26


@pytest.mark.parametrize(("size", "nearest"), [(53, 56), (85, 88), (3, 8)])
def test_a_size_that_patches_do_not_divide(size, nearest):
    with pytest.raises(
        UsageError, match=rf"multiple, got {size}\. The nearest `size` is {nearest}\."
    ):
        SiTEncoder(size, 9)
