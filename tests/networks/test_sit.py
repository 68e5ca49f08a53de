"""SiT: the symmetry of its tokens at every size, and what its last layer breaks."""

import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups.action import ImageAction
from nearsym.groups.catalog import dihedral
from nearsym.groups.representation import plane_of
from nearsym.groups.symmetry import Symmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.networks.sit import SIDE, SiTEncoder, cut

WIDTH = 64
SQUARE = dihedral(4)
SIZES = (16, 37, 51, 53, 64, 85)
ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-13}
READOUTS = pytest.mark.parametrize("readout", ["broken", "equivariant"])


def away_from_start(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # no weight special, none 0
    return module


def images(size, count=3, channels=9):
    return torch.randint(0, 256, (count, size, size, channels), dtype=torch.uint8)


def act(g, x, *, channels_last=False):
    axes = (-3, -2) if channels_last else (-2, -1)
    return ImageAction(SQUARE, *axes).act(g, x)


def gap(one, other):
    """The largest difference, relative to the largest value."""
    return float(((one - other).abs().max() / one.abs().max()).detach())


def class_token(encoder, x):
    return encoder(x)[:, 0, :WIDTH]


@pytest.fixture
def encoder():
    return away_from_start(SiTEncoder(51, 9).double())


@pytest.mark.parametrize("size", SIZES)
def test_before_it_is_broken_the_symmetry_is_exact(size, dtype):
    encoder, x = away_from_start(SiTEncoder(size, 9).to(dtype)), images(size)
    with torch.no_grad():
        before = encoder.tokens(x)
        for g in range(1, SQUARE.order):
            after = encoder.tokens(act(g, x, channels_last=True))
            assert gap(before.invariant, after.invariant) < ROUNDING[dtype]
            assert gap(act(g, before.patches), after.patches) < ROUNDING[dtype]
            assert gap(act(g, before.cells), after.cells) < ROUNDING[dtype]
            assert gap(before.patches, after.patches) > 1e-2
            assert gap(before.cells, after.cells) > 1e-2


def test_bfloat16_rounds_more():
    encoder, x = away_from_start(SiTEncoder(51, 9)), images(51)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        before, after = encoder.tokens(x), encoder.tokens(x.flip(2))
    assert gap(before.invariant, after.invariant) < 0.01
    assert gap(before.patches.flip(3), after.patches) < 0.01


@pytest.mark.parametrize("g", range(1, SQUARE.order), ids=SQUARE.elements[1:])
def test_cells_may_be_moved_inside_their_patch(encoder, g):
    cells = torch.randn(2, 16, 24, 24, dtype=torch.float64)
    moved = cells.clone()
    inside = (..., slice(SIDE, 2 * SIDE), slice(0, SIDE))  # the patch below the first one
    moved[inside] = act(g, cells[inside])
    assert gap(encoder.local(cells), encoder.local(moved)) < 1e-13
    moved[..., 4:8, 2:6] = act(g, cells[..., 4:8, 2:6])  # as large, but across two patches
    assert gap(encoder.local(cells), encoder.local(moved)) > 1e-3


def test_attention_stays_inside_a_patch(encoder):
    cells = torch.randn(2, 16, 24, 24, dtype=torch.float64)
    changed = cells.clone()
    changed[..., 7, 3] += 1.0  # in the patch below the first one
    differs = (encoder.local(cells) - encoder.local(changed)).abs().amax(dim=(0, 2)) > 0
    assert differs.nonzero().flatten().tolist() == [6]


NOT_PROMISED = {
    "the order of frames": lambda x: x.roll(3, dims=3),
    "a shift by a patch": lambda x: x.roll(8, dims=2),
    "a shift by a pixel": lambda x: x.roll(1, dims=2),
    "two rows of patches exchanged": lambda x: torch.cat([x[:, 8:16], x[:, :8], x[:, 16:]], 1),
    "one half mirrored": lambda x: torch.cat([x[:, :, :24].flip(2), x[:, :, 24:]], 2),
}


@pytest.mark.parametrize("change", NOT_PROMISED)
def test_what_is_not_promised_does_not_hold(encoder, change):
    x = images(51)
    before, after = encoder.tokens(x), encoder.tokens(NOT_PROMISED[change](x))
    assert gap(before.invariant, after.invariant) > 1e-3


@pytest.mark.parametrize("size", SIZES)
def test_after_the_breaking_layer_nothing_is_left(size):
    encoder, x = away_from_start(SiTEncoder(size, 9).double()), images(size)
    for g in range(1, SQUARE.order):
        y = act(g, x, channels_last=True)
        assert gap(class_token(encoder, x), class_token(encoder, y)) > 1e-3
        patches = [encoder(image)[:, 0, WIDTH:].unflatten(1, (-1, WIDTH)) for image in (x, y)]
        maps = [p.transpose(1, 2).unflatten(2, (encoder.grid, -1)) for p in patches]
        assert gap(act(g, maps[0]), maps[1]) > 1e-2


@pytest.mark.parametrize("part", ["places", "order"])
def test_each_part_of_the_breaking_layer_is_enough(encoder, part):
    x, breaking = images(51), encoder.breaking
    with torch.no_grad():
        if part == "places":
            breaking.order.weight.zero_()
        else:
            breaking.places.zero_()
    assert gap(class_token(encoder, x), class_token(encoder, x.flip(2))) > 1e-3
    with torch.no_grad():
        breaking.order.weight.zero_()
        breaking.places.zero_()
    assert gap(class_token(encoder, x), class_token(encoder, x.flip(2))) < 1e-13


@pytest.mark.parametrize("group", [dihedral(1), dihedral(2), SQUARE], ids=repr)
def test_over_a_group_features_are_those_of_the_moved_images(group, dtype):
    encoder = away_from_start(SiTEncoder(51, 3, group=group).to(dtype))
    plain = SiTEncoder(51, 3).to(dtype)
    plain.load_state_dict(encoder.state_dict())  # the same weights: a group adds none
    x, pixels = images(51, channels=3), ImageAction(group, height=-3, width=-2)
    features = encoder(x)
    assert features.shape == (3, group.order, plain.features)
    for g in range(group.order):
        moved = plain(pixels.act(int(group.inverse[g]), x))[:, 0]
        assert gap(features[:, g], moved) < ROUNDING[dtype]
    assert gap(features[:, 0], features[:, 1]) > 1e-3


@READOUTS
def test_gradients_reach_every_parameter(readout):
    symmetry = Symmetry(ImageAction(SQUARE, height=-3, width=-2), plane_of(SQUARE))
    config = NetworkConfig(model="sit", sit_readout=readout, hidden=32, waist=16)
    networks = build_actor_critic(symmetry, (51, 51, 9), "drqv2", config)
    features = networks.encoder(images(51, 8))
    actions = torch.tanh(networks.actor(features))
    networks.critic(features, actions).square().mean().backward()
    for part, network in networks.parts.items():
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, f"{part}.{name}"
            assert parameter.grad.isfinite().all(), f"{part}.{name}"
            assert parameter.grad.abs().max() > 0, f"{part}.{name}"


@READOUTS
def test_compiled_networks_give_the_same(readout, unchecked):
    group = SQUARE if readout == "equivariant" else None
    encoder, x = away_from_start(SiTEncoder(37, 3, group=group)), images(37, channels=3)
    torch.compiler.reset()
    compiled = torch.compile(encoder, backend="eager", fullgraph=True)
    assert torch.allclose(compiled(x), encoder(x), atol=1e-5)
    compiled(x).square().sum().backward()
    assert all(parameter.grad is not None for parameter in encoder.parameters())


@pytest.mark.parametrize("size", [*range(16, 25), 40, 51, 85])
def test_the_number_of_patches_decides_the_features(size):
    encoder = SiTEncoder(size, 9)
    assert encoder.features == WIDTH * ((size // 8) ** 2 + 1)
    assert encoder(images(size)).shape == (3, 1, encoder.features)


def test_every_pixel_is_seen():
    for size in range(16, 25):
        encoder, x = SiTEncoder(size, 1).double(), images(size, 1, 1)
        pixels = x.double().requires_grad_()
        encoder.embed(pixels.permute(0, 3, 1, 2)).sum().backward()
        assert pixels.grad.abs().min() > 0


def test_patches_are_cut_where_they_lie():
    cells = torch.arange(64.0).view(1, 1, 8, 8)
    expected = [cells[0, 0, i : i + 4, j : j + 4].flatten() for i in (0, 4) for j in (0, 4)]
    assert torch.equal(cut(cells)[0, :, :, 0], torch.stack(expected))


@pytest.mark.parametrize("size", [3, 15])
def test_images_that_are_too_small(size):
    with pytest.raises(UsageError, match=rf"`size` must be 16 or more, got {size}\."):
        SiTEncoder(size, 9)
