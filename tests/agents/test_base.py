"""The steps every update is made of."""

import pytest
import torch
from torch import nn

from nearsym.agents.base import Compute, adam, frozen, minimise, normal_like, polyak_
from nearsym.errors import UsageError


def test_polyak_moves_a_fraction(dtype):
    target, source = nn.Linear(3, 2).to(dtype), nn.Linear(3, 2).to(dtype)
    expected = 0.9 * target.weight + 0.1 * source.weight
    kept = source.weight.clone()
    polyak_(target, source, 0.1)
    assert torch.allclose(target.weight, expected)
    assert torch.equal(source.weight, kept)
    polyak_(target, source, 1.0)
    assert torch.equal(target.bias, source.bias)


def test_frozen_lets_gradients_through_and_keeps_none():
    module, x = nn.Linear(2, 1), torch.ones(1, 2, requires_grad=True)
    with frozen(module):
        y = module(x).sum()
    y.backward()
    assert torch.equal(x.grad, module.weight.detach())
    assert module.weight.grad is None
    assert module.weight.requires_grad


def test_frozen_leaves_alone_what_was_frozen_before():
    module = nn.Linear(2, 1)
    module.bias.requires_grad_(False)
    with frozen(module):
        assert not module.weight.requires_grad
    assert module.weight.requires_grad
    assert not module.bias.requires_grad


def test_frozen_thaws_after_an_error():
    module = nn.Linear(2, 1)
    with pytest.raises(ZeroDivisionError), frozen(module):
        raise ZeroDivisionError
    assert module.weight.requires_grad


def test_minimise_forgets_old_gradients():
    module = nn.Linear(1, 1, bias=False)
    optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
    with torch.no_grad():
        module.weight.fill_(0.0)
    for _ in range(2):
        minimise(module.weight.sum(), optimiser, None)
    assert module.weight.item() == -2.0


def test_adam_of_nothing_is_nothing():
    assert adam(1e-3, nn.ReLU()) is None
    assert adam(1e-3, nn.ReLU(), nn.Linear(1, 1)) is not None


def test_noise_has_type_and_shape(dtype):
    x = torch.zeros(4, 3, dtype=dtype)
    noise = normal_like(x, torch.Generator().manual_seed(0))
    assert noise.shape == x.shape
    assert noise.dtype == dtype
    assert torch.equal(noise, normal_like(x, torch.Generator().manual_seed(0)))


def test_bfloat16_features_come_back_in_float32():
    encoder = nn.Linear(3, 2)
    x = torch.randn(4, 3)
    exact = Compute(torch.device("cpu"), bfloat16=False).encode(encoder, x)
    rough = Compute(torch.device("cpu"), bfloat16=True).encode(encoder, x)
    assert exact.dtype == rough.dtype == torch.float32
    assert 0 < (exact - rough).abs().max() < 0.05


def test_state_vectors_are_never_rounded(make_agent, make_batch):
    """The vector encoder only moves numbers around: bfloat16 would throw away what was seen."""
    exact, rough = make_agent("sac"), make_agent("sac", bfloat16=True)
    obs = make_batch().obs.numpy()
    assert (exact.policy(obs) == rough.policy(obs)).all()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda w: w.pop("class_token"), r"at 'class_token' it has nothing, expected shape \(1, 1"),
        (lambda w: w.update(old=torch.ones(3)), r"at 'old' it has shape \(3,\), expected nothing"),
        (lambda w: w.update(class_token=torch.ones(7)), r"has shape \(7,\), expected shape \(1, 1"),
    ],
    ids=["missing", "unknown", "of another shape"],
)
def test_weights_of_another_version_are_refused(change, text, make_agent):
    agent = make_agent(pixels=True, network={"model": "sit"})
    state = agent.state_dict()
    make_agent(pixels=True, network={"model": "sit"}, seed=1).load_weights(state)
    change(state["encoder"])
    with pytest.raises(
        UsageError, match=rf"^The saved encoder is not .*{text}.* or train again\.$"
    ):
        agent.load_weights(state)
