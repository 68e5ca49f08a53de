"""Networks over windows: the short ways of their heads beside layer after layer, and in files."""

import onnxruntime
import pytest
import torch
from torch import nn

from nearsym.groups.symmetry import TimeSymmetry
from nearsym.networks.build import build_actor_critic
from nearsym.networks.config import NetworkConfig

DAYS, FEATURES, ACTIONS, BATCH = 9, 20, 5, 32


def networks_of(model, kind, **options):
    sizes = {"hidden": 24, "window_features": 30, "waist": None, "critic_depth": 1}
    config = NetworkConfig(model=model, window_heads="conv", actor_depth=0, **sizes | options)
    symmetry = TimeSymmetry(kind, DAYS, FEATURES, ACTIONS)
    networks = build_actor_critic(symmetry, (DAYS * FEATURES,), "sac", config)
    for part in networks.parts.values():
        part.double()
        with torch.no_grad():
            for parameter in part.parameters():
                parameter.add_(0.1 * torch.randn_like(parameter))
    return networks


def by_layers(body, x, action):
    """A critic's body with the action written beside the features on every day and scale."""
    for _ in range(x.ndim - 3):
        action = action.unsqueeze(1)
    shape = (*x.shape[:-2], ACTIONS, DAYS)
    x = torch.cat([x, action.unsqueeze(-1).expand(shape)], dim=-2)
    for layer in body.layers:
        x = torch.relu(layer(x))
    return body.readout(body.last(x))


@pytest.mark.parametrize("kind", ["T", "ST"])
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("exact", {}),
        ("approx", {}),
        ("approx", {"filters": 2}),
        ("rpp", {}),
        ("exact", {"critic_depth": 0}),
    ],
)
def test_heads_equal_their_layers(model, options, kind):
    networks = networks_of(model, kind, **options)
    obs = torch.randn(BATCH, DAYS * FEATURES).double()
    action = torch.rand(BATCH, ACTIONS).double().requires_grad_()
    features = networks.encoder(obs)
    body = networks.actor.both
    plain = body.readout(body.last(features)).chunk(2, -1)[0]
    torch.testing.assert_close(networks.actor(features)[0], plain, rtol=0, atol=1e-10)
    bodies = networks.critic.bodies
    ways = [
        networks.critic(features, action),
        torch.cat([by_layers(body, features, action) for body in bodies], -1).T,
    ]
    torch.testing.assert_close(*ways, rtol=0, atol=1e-10)
    parts = (networks.encoder, networks.critic)
    inputs = [action, *(p for part in parts for p in part.parameters())]
    gradients = [
        torch.autograd.grad(way.square().sum(), inputs, allow_unused=True, retain_graph=True)
        for way in ways
    ]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


class Policy(nn.Module):
    def __init__(self, networks):
        super().__init__()
        self.encoder, self.actor = networks.encoder, networks.actor

    def forward(self, obs):
        return self.actor(self.encoder(obs))[0]


@pytest.mark.longer
@pytest.mark.parametrize("kind", ["T", "ST"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_files_take_any_number_of_windows(kind, tmp_path):
    """Which way is shorter depends on the batch, a file does not."""
    policy, path = Policy(networks_of("approx", kind)).float().eval(), tmp_path / "policy.onnx"
    shapes = {"obs": {0: torch.export.Dim("batch")}}
    example = (torch.randn(2, DAYS * FEATURES),)
    torch.onnx.export(policy, example, path, dynamo=True, verbose=False, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch in (1, 64):
        obs = torch.randn(batch, DAYS * FEATURES)
        (found,) = session.run(None, {session.get_inputs()[0].name: obs.numpy()})
        expected = policy(obs).detach()
        torch.testing.assert_close(torch.tensor(found), expected, rtol=1e-4, atol=1e-5)
