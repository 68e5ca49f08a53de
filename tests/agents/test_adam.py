"""Our Adam against torch's, and what `minimise` touches."""

import pytest
import torch
from torch import nn

from nearsym.agents.adam import Adam, Apart, minimise


def network(seed=0, dtype=torch.float32):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(dtype)


def loss_of(net, step):
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(step)).to(net[0].weight)
    return net(x).square().mean()


def reference(net, steps, optimiser):
    for step in range(steps):
        optimiser.zero_grad()
        loss_of(net, step).backward()
        optimiser.step()


def test_its_numbers_are_those_of_torch(dtype):
    ours, theirs = network(dtype=dtype), network(dtype=dtype)
    optimiser = Adam(ours.parameters(), learning_rate=1e-2)
    for step in range(20):
        minimise(loss_of(ours, step), optimiser)
    reference(theirs, 20, torch.optim.Adam(theirs.parameters(), lr=1e-2, fused=True))
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b)


def test_it_goes_on_from_its_own_state_and_from_that_of_torch():
    nets = [network() for _ in range(3)]
    optimisers = [Adam(net.parameters(), learning_rate=1e-2) for net in nets]
    theirs = network()
    torchs = torch.optim.Adam(theirs.parameters(), lr=1e-2, fused=True)
    reference(theirs, 5, torchs)
    for step in range(10):
        minimise(loss_of(nets[0], step), optimisers[0])
        if step == 4:
            for net, optimiser, state in zip(
                nets[1:], optimisers[1:], (optimisers[0], torchs), strict=True
            ):
                net.load_state_dict(nets[0].state_dict())
                optimiser.load_state_dict(state.state_dict())
        elif step > 4:
            for net, optimiser in zip(nets[1:], optimisers[1:], strict=True):
                minimise(loss_of(net, step), optimiser)
    for weights in zip(*(net.parameters() for net in nets), strict=True):
        assert torch.equal(weights[0], weights[1])
        assert torch.equal(weights[0], weights[2])


def test_gradients_may_lie_in_memory_as_they_like():
    """Those of a sum are one number seen many times, those of a transposed use are transposed."""
    weights = [torch.ones(3, 4, requires_grad=True) for _ in range(2)]
    factor = torch.arange(12.0).view(4, 3)
    theirs = torch.optim.Adam(weights[1:], lr=0.1, fused=True)
    ours = Adam(weights[:1], learning_rate=0.1)
    for loss_of_weight in (torch.sum, lambda w: (w.t() * factor).sum()):
        gradient = torch.autograd.grad(loss_of_weight(weights[0]), weights[0])[0]
        assert gradient.stride() != weights[0].stride()
        minimise(loss_of_weight(weights[0]), ours)
        theirs.zero_grad()
        loss_of_weight(weights[1]).backward()
        theirs.step()
    assert torch.equal(*weights)


def test_a_parameter_that_a_loss_does_not_know_stays():
    used, unused = (torch.ones(2, requires_grad=True) for _ in range(2))
    minimise(used.sum(), Adam([used, unused], learning_rate=0.1), None)
    assert torch.equal(unused, torch.ones(2))
    assert not torch.equal(used, torch.ones(2))


def test_nothing_else_gets_a_gradient():
    net, head = network(), nn.Linear(2, 1)
    before = [p.clone() for p in head.parameters()]
    minimise(head(net(torch.ones(1, 3))).sum(), Adam(net.parameters(), learning_rate=0.1))
    assert all(p.grad is None for p in (*net.parameters(), *head.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(before, head.parameters(), strict=True))


def test_several_optimisers_share_one_pass():
    parts = [torch.ones(2, requires_grad=True) for _ in range(2)]
    rates = (0.1, 0.2)
    minimise(sum(parts).sum(), *(Adam([p], r) for p, r in zip(parts, rates, strict=True)))
    assert [p[0].item() for p in parts] == pytest.approx([0.9, 0.8])


def test_some_parameters_may_learn_slower():
    fast, slow = (torch.ones(3, requires_grad=True) for _ in range(2))
    optimiser = Adam([fast, slow], learning_rate=0.1, apart=Apart([slow], rate=0.5))
    for _ in range(3):
        minimise((fast * fast).sum() + (slow * slow).sum(), optimiser)
    alone = torch.ones(3, requires_grad=True)
    reference = torch.optim.Adam([alone], lr=0.05)
    for _ in range(3):
        reference.zero_grad()
        (alone * alone).sum().backward()
        reference.step()
    assert torch.allclose(slow, alone, atol=1e-6)
    assert (fast < slow).all()


def test_parameters_that_begin_later_take_steps_of_the_usual_size():
    weight = torch.zeros(1, requires_grad=True)
    optimiser = Adam([weight], learning_rate=0.1, apart=Apart([weight], begin=50))
    for _ in range(50):
        optimiser.step([torch.ones(1)])
    assert weight.item() == 0
    optimiser.step([torch.ones(1)])
    assert weight.item() == pytest.approx(-0.1, rel=1e-3)
