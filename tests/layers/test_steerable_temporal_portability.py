"""Steerable and temporal layers under autocast, compilation, copies, export and threads."""

import copy

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from nearsym.groups.catalog import cyclic, dihedral
from nearsym.groups.planar import o2
from nearsym.layers.nonlinearity import Gated, NormReLU, Pointwise
from nearsym.layers.scale import ScaleConv1d, ScaleLiftingConv1d
from nearsym.layers.steerable import SteerableConv2d
from nearsym.layers.temporal import TemporalReadout, TranslationConv1d


def grid_net():
    one, many = dihedral(2).trivial(), dihedral(2).regular()
    return nn.Sequential(
        SteerableConv2d(one, many, 3, 4, 3, stride=2, relaxed=True, filters=2),
        Pointwise(many),
        SteerableConv2d(many, one, 4, 2, 3),
    )


def ring_net():
    hidden = o2().trivial() + o2().irrep(1)
    gate = Gated(hidden, 2)
    return nn.Sequential(
        SteerableConv2d(3 * o2().trivial(), gate.in_rep, 1, 2, 3, relaxed=True),
        gate,
        NormReLU(hidden, 2),
        SteerableConv2d(hidden, o2().trivial(), 2, 2, 3),
    )


def time_net():
    return nn.Sequential(
        TranslationConv1d(3, 4, 5, 9, relaxed=True, filters=2, padding="causal"),
        nn.ReLU(),
        TranslationConv1d(4, 4, 3),
        TemporalReadout(9, relaxed=True),
    )


def scale_net():
    return nn.Sequential(
        ScaleLiftingConv1d(3, 4, 5, 9, relaxed=True, filters=2),
        nn.ReLU(),
        ScaleConv1d(4, 4, 5, 9, relaxed=True, filters=2, padding="causal"),
        TemporalReadout(9, 3, over="last", relaxed=True),
    )


def example(make):
    return torch.randn(2, 3, 9, 9) if make in (grid_net, ring_net) else torch.randn(2, 3, 9)


NETS = [grid_net, ring_net, time_net, scale_net]
every_net = pytest.mark.parametrize("make", NETS, ids=lambda make: make.__name__)


@every_net
def test_state_dict_does_not_depend_on_the_mode(make):
    net = make()
    net.train()
    keys = list(net.state_dict())
    net(example(make))
    assert list(net.eval().state_dict()) == keys
    assert all(torch.is_tensor(v) for v in net.state_dict().values())
    other = make()
    other.load_state_dict(net.state_dict())
    x = example(make)
    assert torch.equal(other(x), net(x))


@every_net
def test_bf16_autocast(make):
    net, x = make(), example(make)
    with torch.autocast("cpu", torch.bfloat16):
        y = net(x)
    assert y.dtype in (torch.bfloat16, torch.float32)
    y.float().square().sum().backward()
    assert all(p.grad.isfinite().all() for p in net.parameters())
    exact = net(x)
    assert (y.float() - exact).norm() < 0.05 * exact.norm()


@every_net
def test_compiles(make, unchecked):
    net, x = make(), example(make)
    torch.testing.assert_close(torch.compile(net, backend="eager", fullgraph=True)(x), net(x))


@every_net
def test_deepcopy_is_independent(make):
    net, x = make(), example(make)
    other = copy.deepcopy(net)
    assert torch.equal(other(x), net(x))
    before = net(x)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(1.0)
    assert torch.equal(net(x), before)
    assert not torch.equal(other(x), before)


@every_net
def test_double_precision_is_full_precision(make):
    """Fixed tables are not rounded to float32 on the way."""
    net, x = make(), example(make).double()
    direct = copy.deepcopy(net).double()(x)
    detour = copy.deepcopy(net).double().float().double()(x)
    assert torch.equal(direct, detour)


@every_net
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_onnx_export_gives_the_same_numbers(make, tmp_path):
    net, x = make().eval(), example(make)
    path = tmp_path / "net.onnx"
    torch.onnx.export(net, (x,), path, dynamo=True, verbose=False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(y, net(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@every_net
def test_gradients_repeat_on_two_threads(make):
    net, x = make(), example(make)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        runs = []
        for _ in range(10):
            net.zero_grad()
            net(x).square().sum().backward()
            runs.append([p.grad.clone() for p in net.parameters()])
    finally:
        torch.set_num_threads(threads)
    for again in runs[1:]:
        assert all(torch.equal(a, b) for a, b in zip(runs[0], again, strict=True))


def test_channels_last_is_kept():
    rho = cyclic(4).regular()
    layer = SteerableConv2d(rho, rho, 4, 4, 3, padding=1, relaxed=True)
    x = torch.randn(2, 16, 9, 9)
    y = layer(x.contiguous(memory_format=torch.channels_last))
    assert y.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(y, layer(x))
