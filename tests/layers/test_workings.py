"""The layers inside torch: state, threads, types, compilation, copies and export."""

import copy
import io

import numpy as np
import pytest
import torch
from torch import nn

from nearsym.groups.catalog import dihedral
from nearsym.layers.conv import GroupConv2d, LiftingConv2d
from nearsym.layers.equivariant_linear import EquivariantLinear
from nearsym.layers.lift import LiftLinear, ProjectLinear
from nearsym.layers.linear import GroupLinear
from nearsym.layers.norm import GroupImageNorm, GroupLayerNorm
from nearsym.layers.pool import SpatialPool2d
from nearsym.layers.regular import regular_features
from nearsym.layers.residual_path import residual


class Network(nn.Module):
    """A small pixel policy that uses every layer of the room once."""

    def __init__(self, group, relaxed=True):
        super().__init__()
        self.group = group
        rep = group.vector()
        self.lift = LiftingConv2d(group, 3, 4, 3, stride=2, relaxed=relaxed)
        self.norm = GroupImageNorm(group, 4)
        self.conv = residual(GroupConv2d(group, 4, 4, 3, relaxed=relaxed))
        self.pool = SpatialPool2d(group, "max", 2)
        self.linear = GroupLinear(group, 16, 8, relaxed=relaxed)
        self.layer_norm = GroupLayerNorm(group, 8)
        self.project = ProjectLinear(rep, 8, relaxed=relaxed)
        self.back = LiftLinear(rep, 1, 8, relaxed=relaxed)
        self.out = EquivariantLinear(rep, rep, 1, 1, relaxed=relaxed)

    def forward(self, x):
        x = self.norm(self.lift(x)).relu()
        x = regular_features(self.pool(self.conv(x)), self.group)
        x = self.layer_norm(self.linear(x))
        return self.out(self.project((x + self.back(self.project(x))).tanh()))


@pytest.fixture(params=[dihedral(1), dihedral(2), dihedral(4)], ids=repr)
def net(request):
    return Network(request.param)


@pytest.fixture
def images():
    return torch.rand(4, 3, 13, 13)


def test_state_has_the_same_keys_in_train_and_eval(net, images):
    keys = set(net.train().state_dict())
    net(images)
    assert set(net.eval().state_dict()) == keys
    net(images)
    assert set(net.state_dict()) == keys
    assert not any("index" in k or "signs" in k or "value" in k for k in keys)


def test_exact_networks_load_into_relaxed_ones_but_for_the_relaxed_weights(images):
    group = dihedral(2)
    exact, relaxed = Network(group, relaxed=False), Network(group)
    outcome = relaxed.load_state_dict(
        {k: v for k, v in exact.state_dict().items() if not k.startswith("out.")}, strict=False
    )
    assert not outcome.unexpected_keys
    missing = [k for k in outcome.missing_keys if not k.startswith("out.")]
    assert all(k.endswith("relaxed") for k in missing)
    assert missing


def test_gradients_repeat_on_two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        layers = {
            "conv": (GroupConv2d(dihedral(4), 8, 8, 3, relaxed=True), (16, 64, 12, 12)),
            "linear": (GroupLinear(dihedral(4), 32, 32, relaxed=True), (64, 8, 32)),
            "blocks": (GroupLinear(dihedral(2), 64, 64, relaxed=True), (256, 4, 64)),
        }
        for layer, shape in layers.values():
            x = torch.randn(shape)
            seen = set()
            for _ in range(10):
                layer.zero_grad()
                layer(x).square().sum().backward()
                seen.add(b"".join(p.grad.numpy().tobytes() for p in layer.parameters()))
            assert len(seen) == 1
    finally:
        torch.set_num_threads(before)


def test_autocast_to_bfloat16_stays_close(net, images):
    exact = net(images)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = net(images)
        y.float().square().sum().backward()
    assert (y.float() - exact).abs().max() < 0.1 * exact.abs().max() + 0.02
    assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())


@pytest.mark.parametrize("group", [dihedral(2), dihedral(4)], ids=repr)
def test_compiled_networks_give_the_same(group, images, unchecked):
    net = Network(group)
    torch.compiler.reset()
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(images), net(images), atol=1e-5)
    compiled(images).sum().backward()
    assert net.lift.relaxed.grad is not None


def test_deep_copies_are_equal_and_separate(net, images):
    copied = copy.deepcopy(net)
    before = net(images)
    assert torch.equal(copied(images), before)
    with torch.no_grad():
        copied.linear.filters.zero_()
    assert torch.equal(net(images), before)


def test_double_precision_is_double_after_any_detour():
    layer = LiftLinear(dihedral(3).vector(), 1, 2).double()
    exact = layer.undo().clone()
    layer.float().half().double()
    assert torch.equal(layer.undo(), exact)
    assert exact.dtype == torch.float64
    assert abs(float(exact[1, 0, 0]) + 0.5) < 1e-15


@pytest.mark.filterwarnings("ignore")  # the exporter's own
def test_export_to_onnx_gives_the_same_numbers(images):
    import onnxruntime

    net = Network(dihedral(2)).eval()
    file = io.BytesIO()
    program = torch.onnx.export(net, (images,), dynamo=True, verbose=False)
    program.save(file)
    session = onnxruntime.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    (result,) = session.run(None, {name: images.numpy()})
    np.testing.assert_allclose(result, net(images).detach().numpy(), atol=1e-5)
