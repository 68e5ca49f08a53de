"""Samples moved by elements of their own, against moving them one by one."""

import numpy as np
import pytest
import torch

from nearsym.errors import UsageError
from nearsym.groups import ImageAction, Symmetry, TimeSymmetry, dihedral
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig
from nearsym.networks.moves import RandomMoves, all_at_once, one_by_one

SQUARE = dihedral(4)
VECTORS = Symmetry(2 * SQUARE.vector(), SQUARE.vector())
IMAGES = Symmetry(ImageAction(SQUARE, height=-3, width=-2), SQUARE.vector())


def images(count):
    return torch.randint(0, 256, (count, 5, 5, 3), dtype=torch.uint8)


@pytest.mark.parametrize(("symmetry", "obs"), [(VECTORS, torch.randn(40, 4)), (IMAGES, images(40))])
def test_each_sample_moves_by_its_own_element(symmetry, obs):
    moves = RandomMoves(symmetry)
    elements = moves.draw(40, torch.Generator().manual_seed(0))
    assert set(elements.tolist()) == set(range(8))
    action = torch.randn(40, 2)
    moved_obs, moved_action = moves.observations(obs, elements), moves.actions(action, elements)
    assert moved_obs.dtype == obs.dtype
    for i, g in enumerate(elements.tolist()):
        assert torch.equal(moved_obs[i], torch.as_tensor(symmetry.observation.act(g, obs[i])))
        assert torch.equal(moved_action[i], symmetry.action.act(g, action[i]))


def test_an_accelerator_moves_them_in_the_same_way():
    obs, elements = images(40), torch.arange(40) % 8
    ways = (move(IMAGES.observation, obs, elements) for move in (all_at_once, one_by_one))
    assert torch.equal(*ways)


def test_elements_are_drawn_evenly_and_repeat_for_a_seed():
    moves = RandomMoves(VECTORS)
    first, again = (moves.draw(8000, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)
    counts = np.bincount(first.numpy(), minlength=8)
    assert np.abs(counts - 1000).max() < 5 * 1000**0.5


def test_the_identity_can_be_left_out():
    generator = torch.Generator().manual_seed(0)
    elements = RandomMoves(VECTORS).draw(400, generator, identity=False)
    assert set(elements.tolist()) == set(range(1, 8))


@pytest.mark.parametrize("model", ["augment", "mirror"])
@pytest.mark.parametrize("agent", ["sac", "drqv2"])
def test_the_networks_are_those_of_none(model, agent):
    def built(name):
        torch.manual_seed(0)
        return build_actor_critic(VECTORS, (4,), agent, NetworkConfig(model=name, hidden=16))

    free, taught = built("none"), built(model)
    assert taught.parameter_counts() == free.parameter_counts()
    for part, network in free.parts.items():
        for name, weight in network.state_dict().items():
            assert torch.equal(weight, taught.parts[part].state_dict()[name])
    assert free.moves is None
    assert taught.moves is not None
    assert bool(taught.mirror_strength) == (model == "mirror")


def test_images_need_an_image_action():
    wrong = Symmetry(SQUARE.vector(), SQUARE.vector())
    with pytest.raises(UsageError, match="Pixels need an ImageAction"):
        build_actor_critic(wrong, (37, 37, 3), "drqv2", NetworkConfig(model="augment"))


@pytest.mark.parametrize("model", ["augment", "mirror"])
def test_a_window_of_days_has_no_elements(model):
    time = TimeSymmetry("T", window=9, features=3, actions=1)
    with pytest.raises(
        UsageError, match=f"{model} moves samples by the elements of a finite group"
    ):
        build_actor_critic(time, (27,), "sac", NetworkConfig(model=model))
