"""Graph symmetric attention: its equations, its symmetry, and what has no part in it."""

import pytest
import torch
from torch.nn.functional import conv2d, scaled_dot_product_attention

from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.networks.graph_attention import (
    GraphAttention,
    GraphPooling,
    PlainAttention,
    RadialConv2d,
)

SIDE, WIDTH, HEADS = 4, 8, 2
SQUARE = dihedral(4)
MOTIONS = pytest.mark.parametrize("g", range(1, SQUARE.order), ids=SQUARE.elements[1:])


@pytest.fixture
def attention(dtype):
    attention = GraphAttention(WIDTH, HEADS, SIDE).to(dtype)
    with torch.no_grad():
        attention.radial.normal_()  # away from the identity
    return attention


@pytest.fixture
def x(dtype):
    return torch.randn(3, 1 + SIDE * SIDE, WIDTH, dtype=dtype)


def moved(x, g):
    """The tokens with their square moved, and the class token where it was."""
    square = x[:, 1:].unflatten(1, (SIDE, SIDE))
    square = ImageAction(SQUARE, height=-3, width=-2).act(g, square)
    return torch.cat([x[:, :1], square.flatten(1, 2)], dim=1)


def graph_matrix(radial):
    """The weights between all tokens for one channel, from the distances of their places."""
    weights = dict(zip((0, 1, 2), radial, strict=True))
    matrix = torch.zeros(1 + SIDE * SIDE, 1 + SIDE * SIDE, dtype=radial.dtype)
    matrix[0, 0] = 1.0
    for i in range(SIDE * SIDE):
        for j in range(SIDE * SIDE):
            down, right = i // SIDE - j // SIDE, i % SIDE - j % SIDE
            if max(abs(down), abs(right)) <= 1:
                matrix[1 + i, 1 + j] = weights[down**2 + right**2]
    return matrix


@torch.no_grad()
def slow(attention, x):
    """Equation by equation: a graph matrix for each channel, A + Aᵀ, softmax, head by head."""
    query, key, value = attention.project(x).chunk(3, dim=-1)
    graphs = torch.stack([graph_matrix(radial) for radial in attention.radial[:, 0]])
    query = torch.einsum("cij,bjc->bic", graphs[:WIDTH], query)
    key = torch.einsum("cij,bjc->bic", graphs[WIDTH:], key)
    heads, size = [], WIDTH // HEADS
    for head in (slice(n * size, (n + 1) * size) for n in range(HEADS)):
        scores = query[..., head] @ key[..., head].mT / size**0.5
        heads.append(torch.softmax(scores + scores.mT, dim=-1) @ value[..., head])
    return attention.out(torch.cat(heads, dim=-1))


def test_attention_is_that_of_the_equations(attention, x, tolerance):
    assert torch.allclose(attention(x), slow(attention, x), atol=10 * tolerance)


@MOTIONS
def test_tokens_move_and_the_class_token_stays(attention, x, g, tolerance):
    before, after = attention(x), attention(moved(x, g))
    assert (moved(before, g) - after).abs().max() < 10 * tolerance
    assert (before[:, 1:] - after[:, 1:]).abs().max() > 1e-3


@MOTIONS
def test_a_kernel_that_knows_directions_breaks_it(attention, x, g):
    attention.ring_of = torch.arange(9).view(3, 3)  # every place of the kernel a ring of its own
    attention.radial = torch.nn.Parameter(torch.randn(2 * WIDTH, 1, 9, dtype=x.dtype))
    assert (moved(attention(x), g) - attention(moved(x, g))).abs().max() > 1e-3


def test_other_orders_are_seen_by_the_graph_alone(attention, x, tolerance):
    order = torch.cat([torch.tensor([0]), 1 + torch.randperm(SIDE * SIDE)])
    gap = attention(x)[:, order] - attention(x[:, order])
    assert gap.abs().max() > 1e-3
    with torch.no_grad():
        attention.radial[..., 1:] = 0.0  # no neighbours
    gap = attention(x)[:, order] - attention(x[:, order])
    assert gap.abs().max() < 10 * tolerance


def test_pooling_is_the_row_of_the_class_token(x, dtype, tolerance):
    pooling = GraphPooling(WIDTH, HEADS, SIDE).to(dtype)
    with torch.no_grad():
        pooling.attention.radial.normal_()
    first, square = x[:1, :1], x[:, 1:]
    whole = torch.cat([first.expand(3, -1, -1), square], dim=1)
    expected = pooling.attention(whole)[:, :1]
    assert torch.allclose(pooling(first, square), expected, atol=10 * tolerance)
    assert expected.std(dim=0).min() > 1e-3  # it has looked at the squares


def test_pooling_teaches_every_weight_what_the_row_does(x, dtype, tolerance):
    pooling = GraphPooling(WIDTH, HEADS, SIDE).to(dtype)
    first, square = x[:1, :1], x[:, 1:]
    weights = list(pooling.parameters())
    whole = torch.cat([first.expand(3, -1, -1), square], dim=1)
    target = torch.randn(3, WIDTH, dtype=dtype)
    expected = torch.autograd.grad((pooling.attention(whole)[:, 0] * target).sum(), weights)
    found = torch.autograd.grad((pooling(first, square)[:, 0] * target).sum(), weights)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=20 * tolerance)


def test_plain_attention_is_that_of_torch(x, dtype, tolerance):
    attention = PlainAttention(WIDTH, HEADS).to(dtype)
    first, others = x[:, :1], x[:, 1:]
    key, value = attention.answer(others).chunk(2, dim=-1)
    parts = (attention.ask(first), key, value)
    heads = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
    expected = scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
    assert torch.allclose(attention(first, others), attention.out(expected), atol=10 * tolerance)


@pytest.mark.parametrize(("kernel", "rings"), [(2, 1), (3, 3), (4, 3), (5, 6), (7, 10)])
def test_a_radial_kernel_has_one_weight_for_each_distance(kernel, rings, dtype, tolerance):
    conv = RadialConv2d(2, 3, kernel, stride=2).to(dtype)
    assert conv.radial.shape == (3, 2, rings)
    centre = (kernel - 1) / 2
    square = [(i - centre) ** 2 + (j - centre) ** 2 for i in range(kernel) for j in range(kernel)]
    ring_of = [sorted(set(square)).index(distance) for distance in square]
    weights = conv.radial[..., ring_of].view(3, 2, kernel, kernel)
    x = torch.randn(2, 2, kernel + 6, kernel + 6, dtype=dtype)
    expected = conv2d(x, weights, conv.bias, stride=2)
    assert torch.allclose(conv(x), expected, atol=10 * tolerance)


@MOTIONS
@pytest.mark.parametrize("kernel", [4, 5])
def test_a_radial_kernel_moves_with_the_image(g, kernel, dtype, tolerance):
    assert motion_gap(g, kernel, kernel + 6, dtype) < 10 * tolerance


@pytest.mark.parametrize("kernel", [4, 5])
def test_a_rest_at_one_side_is_not_symmetric(kernel, dtype):
    assert motion_gap(SQUARE.index("mirror_x"), kernel, kernel + 7, dtype) > 1e-2


def motion_gap(g, kernel, size, dtype):
    conv, act = RadialConv2d(2, 3, kernel, stride=2).to(dtype), ImageAction(SQUARE).act
    x = torch.randn(2, 2, size, size, dtype=dtype)
    return (act(g, conv(x)) - conv(act(g, x))).abs().max()
