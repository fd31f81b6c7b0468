"""Self-play on a GPU: simulated it is the CPU's run, padding for graphs changes nothing, and what cannot run is named.

What needs a real device is skipped where there is none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.neural.network import masked_log_probabilities, policy_input
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.cuda_batch import NoDeviceError
from ddz_training.learn.dmc import DmcConfig
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo import graphs
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.device import Device, DeviceDraws, to_host
from ddz_training.learn.ppo.games import Rollout, evaluate
from ddz_training.learn.ppo.graphs import replayed
from ddz_training.learn.ppo.ppo import Learner
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.threads import Threads
from tests.agents.neural.test_cuda_simulator import has_device, run_simulated
from tests.training.learn.test_ppo_learner import SETTINGS, decided, networks
from tests.training.learn.test_ppo_rollout import SMALL

SIZES = {"architecture": SMALL, "num_games": 4, "groups": 1, "steps": 10, "minibatch": 24, "shard": 16}
PARTS = {"snapshot_every": 1, "opponent_share": 0.5, "average": 0.5, "auxiliary": 0.1, "magnet": 0.1}

SCRIPT = """
import json, sys
import numpy as np
from tests.training.learn.test_cuda_training import new_run, noted
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.checkpoint import save_checkpoint

run = new_run(json.loads(sys.argv[1]), device="cuda")
assert not run.device.on_host
run.step()
save_checkpoint(sys.argv[2] + ".run", run)
run = SelfPlay.resume(sys.argv[2] + ".run")  # from here on a resumed run
run.step()
np.savez(sys.argv[2], **noted(run))
"""

needs_device = pytest.mark.skipif(not has_device(), reason="there is no CUDA device")


def new_run(settings: dict[str, Any], device: str) -> SelfPlay:
    return SelfPlay(SelfPlayConfig(**{**SIZES, **PARTS, "evaluate_every": 0, **settings}, device=device), 1)


def noted(run: SelfPlay) -> dict[str, np.ndarray]:
    """All that a run holds, and its last games step by step; words as int64."""
    parts = {name: part for name, part in vars(run._rollout).items() if name not in ("candidates", "appraisals")}
    parts |= {f"candidates.{name}": part for name, part in vars(run._rollout.candidates).items()}
    played = {f"played.{name}": to_host(part) for name, part in parts.items()}
    for name in ("rows", "counts", *(name for name in parts if name.startswith("candidates."))):
        played[f"played.{name}"][~played["played.decides"]] = 0  # what is written of decisions only
    found = played | run.state()[0]
    return {name: part.view(np.int64) if part.dtype == np.uint64 else part for name, part in found.items()}


def assert_simulated_equals_the_cpu(tmp_path: Path, **settings: Any) -> dict[str, np.ndarray]:
    """Games and choices to the bit, everything else within 10^-6, after two updates."""
    run_simulated(SCRIPT, json.dumps(settings), str(tmp_path / "simulated.npz"))
    run = new_run(settings, device="cpu")
    run.step()
    run.step()
    ours, theirs = noted(run), np.load(tmp_path / "simulated.npz")
    assert set(ours) == set(theirs.files)
    for name, part in ours.items():
        if part.dtype.kind == "f":
            np.testing.assert_allclose(theirs[name], part, rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert (theirs[name] == part).all(), name
    run.close()
    return ours


def test_a_simulated_run_is_the_cpus(tmp_path: Path) -> None:
    """Two updates with past selves, look-ahead, probes, guesses and a magnet; resumed between them."""
    found = assert_simulated_equals_the_cpu(tmp_path, rules="mini", num_games=2, steps=5)
    assert (found["played.candidates.actions"][..., 1] >= 0).any()


@pytest.mark.long
@pytest.mark.parametrize("rules", ["mini", "standard", "bidding,doubling=true"])
def test_a_simulated_run_is_the_cpus_under_other_rules(rules: str, tmp_path: Path) -> None:
    found = assert_simulated_equals_the_cpu(tmp_path, rules=rules, objective="stake", steps=60)
    assert found["played.done"].any()


def updated(decisions: Rollout, config: SelfPlayConfig, monkeypatch: pytest.MonkeyPatch, padded: bool) -> list[Any]:
    """The weights after an update, with all passes padded or with none."""
    policy, critic = networks(1)
    monkeypatch.setattr(Device, "captures", lambda *_: padded)
    monkeypatch.setattr(graphs, "Captured", lambda function: function)
    workers = Threads(1)
    Learner(policy, critic, config, workers).update(decisions, np.random.default_rng(0), 0)
    workers.close()
    return [weight.detach() for weight in (*policy.parameters(), *critic.parameters())]


def test_padding_for_graphs_changes_no_update(monkeypatch: pytest.MonkeyPatch) -> None:
    decisions = decided(networks(0)[0])
    config = SelfPlayConfig(**SETTINGS | {"minibatch": 70}, auxiliary=0.5, shard=50)
    plain, filled = (updated(decisions, config, monkeypatch, padded) for padded in (False, True))
    for one, other in zip(plain, filled, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-6)


def test_padding_for_graphs_changes_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "Captured", lambda function: function)
    policy, _ = networks(0)
    batch = SelfPlayBatch(37, seed=1, threads=1)
    plain, filled = (
        evaluate(policy, batch.observation, batch.mask, forward)[0] for forward in (None, replayed(policy))
    )
    np.testing.assert_allclose(filled, plain, rtol=1e-5, atol=1e-5)


def answers(place: str, *, reduced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and values of the shipped policy in some positions, computed somewhere."""
    policy = load_weights(shipped_policy_path()).policy.to(place)
    policy.reduced = reduced
    batch = SelfPlayBatch(60, seed=4, threads=1)
    for _ in range(25):
        batch.step(batch.sample_actions())
    seen, _ = policy_input(batch.observation, batch.mask, policy.architecture.history)
    with torch.inference_mode():
        logits, values = policy(*(part.to(place) for part in seen))
        logs = masked_log_probabilities(logits, torch.from_numpy(batch.mask).to(place))
    return logs.exp().cpu().numpy(), values.cpu().numpy()


def test_half_the_digits_answer_nearly_the_same() -> None:
    """Probabilities within a hundredth; a value is a little less sure, and only training asks for it."""
    (exact, values), (rough, others) = (answers("cpu", reduced=reduced) for reduced in (False, True))
    assert 0 < np.abs(rough - exact).max() < 1e-2
    assert np.abs(others - values).max() < 2e-2


def test_what_cannot_run_on_a_device_is_named() -> None:
    for settings in ({"rules_share": 0.2}, {"frozen": ("random",), "frozen_share": 0.1}):
        with pytest.raises(InvalidTrainingError, match="agents by name play on the CPU only"):
            SelfPlayConfig(device="cuda", **settings)
    with pytest.raises(InvalidTrainingError, match="deep Monte Carlo trains on the CPU only"):
        DmcConfig(device="cuda")

    if not has_device():
        with pytest.raises(NoDeviceError, match="no CUDA device was found"):
            new_run({}, device="cuda")


def test_a_devices_random_numbers_go_on_where_they_were() -> None:
    draws = DeviceDraws(3, torch.device("cpu"))
    draws.random(5)
    saved = draws.bit_generator.state
    numbers, whole, order = draws.random(4), draws.integers(1, 3, 50), draws.permutation(9)
    draws.state = saved
    assert (draws.random(4) == numbers).all()
    assert (draws.integers(1, 3, 50) == whole).all()
    assert (draws.permutation(9) == order).all()
    assert numbers.dtype == torch.float64
    assert set(whole.tolist()) == {1, 2}
    assert sorted(order.tolist()) == list(range(9))


@needs_device
@pytest.mark.parametrize(("reduced", "most"), [(False, 1e-4), (True, 1e-2)])
def test_a_device_answers_as_the_cpu(reduced: bool, most: float) -> None:
    (ours, values), (theirs, others) = answers("cpu", reduced=False), answers("cuda", reduced=reduced)
    assert np.abs(theirs - ours).max() < most
    assert np.abs(others - values).max() < 2 * most


@needs_device
@pytest.mark.parametrize("graphs", [False, True])
def test_a_device_learns_from_the_games_that_the_cpu_would_play(graphs: bool) -> None:
    """The actions that a device has chosen lead to the same games on the CPU, to the bit, while it learns."""
    run = new_run({"num_games": 64, "steps": 40, "minibatch": 600, "shard": 600, "graphs": graphs}, device="cuda")
    before = run.learner.policy.logits.weight.detach().cpu().clone()
    games = run.groups[0].batch
    host = SelfPlayBatch(64, seed=int(games.state_dict()["seed"]), threads=1, scoring="win", concealed=True)
    for _ in range(3):
        run.step()
        played = {name: to_host(part) for name, part in vars(run._rollout).items() if name not in ("candidates",)}
        for step, actions in enumerate(played["actions"]):
            assert (played["observations"][step] == host.observation).all()
            assert (played["concealed"][step] == host.concealed).all()
            assert (played["masks"][step].view(np.uint64) == host.mask_words).all()
            host.step(actions)
            assert (played["done"][step] == host.done).all()
    assert (run.learner.policy.logits.weight.cpu() != before).any()
    assert all(weight.isfinite().all() for weight in run.learner.policy.parameters())


@needs_device
def test_a_captured_pass_is_the_pass() -> None:
    weight = torch.ones(3, device=Device("cuda").place, requires_grad=True)

    def gradient(given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.autograd.grad((weight * given).square().sum(), [weight])

    captured = graphs.Captured(gradient)
    for factor in (1.0, 2.0, 5.0):
        given = torch.full((3,), factor, device=weight.device)
        assert (captured(given)[0] == gradient(given)[0]).all()
