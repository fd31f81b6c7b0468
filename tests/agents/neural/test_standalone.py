"""A distilled policy: taught by another, written as ONNX, and run where nothing of this package can be imported."""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.errors import TensorFileError, TensorFileMismatchError
from ddz_agents.neural.onnx_policy import OnnxPolicy
from ddz_agents.neural.shipped import shipped_policy_path, shipped_standalone_path
from ddz_agents.neural.standalone import ILLEGAL, StandalonePolicy, StandaloneWeights, load_standalone
from ddz_agents.neural.stored_policy import read_policy
from ddz_agents.neural.weights import Weights, save_weights
from ddz_env import dou_dizhu_v0
from ddz_env.playing.registry import make_agent
from ddz_training.apps.cli import app
from ddz_training.learn import run as running
from ddz_training.learn.distillation import Distillation
from ddz_training.learn.errors import CheckpointMismatchError
from ddz_training.learn.imitation import ImitationConfig, ImitationProgress
from ddz_training.measure.match import provenance
from ddz_training.measure.match.errors import AgentChangedError, OtherCodeError
from tests.agents.neural.test_compiled_policy import decisions, said_without
from tests.agents.neural.test_neural_network import small_networks
from tests.rooms import ROOT

LEARNING = ROOT / "docs" / "guides" / "deploy-policy.md"
SMALL = Architecture(width=16, blocks=1, rest_width=8, rest_features=4, history=4)
ALONE = """
import numpy as np, onnxruntime
seen = np.load("seen.npz")
(logits,) = onnxruntime.InferenceSession(FILE).run(["logits"], dict(seen))
np.save("logits.npy", logits)
"""


def config(decisions: int = 2000, **changes: int) -> ImitationConfig:
    return ImitationConfig(decisions=decisions, num_games=200, architecture=SMALL, **changes)  # type: ignore[arg-type]


def alone(file: Path, observations: np.ndarray, masks: np.ndarray, folder: Path) -> np.ndarray:
    """What a process answers that has NumPy and ONNX Runtime and nothing else."""
    np.savez(folder / "seen.npz", observation=observations, action_mask=masks)
    packages = ("ddz_env", "ddz_agents", "ddz_training", "torch", "onnx", "numba")
    said_without(packages, f"FILE = {str(file)!r}{ALONE}", folder)
    return np.load(folder / "logits.npy")


@pytest.mark.long  # writing ONNX takes seconds; the file that ships is tested below
def test_an_exported_file_answers_as_pytorch_does_and_needs_nothing_of_this_package(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    from ddz_agents.neural.onnx_export import export_standalone

    torch.manual_seed(2)
    policy, file = StandalonePolicy(SMALL).eval(), tmp_path / "standalone.onnx"
    for weight in policy.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    export_standalone(StandaloneWeights(policy, "rlcard", "stake", {"seed": 3}), file)
    for rules in ("standard", "bidding"):
        observations, masks, _ = decisions(rules, 40)
        masks[0] = 0  # nothing is legal: no NaN
        found = alone(file, observations, masks, tmp_path)
        with torch.inference_mode():
            here = policy(torch.from_numpy(observations), torch.from_numpy(masks)).numpy()
            their_logs = policy.answer(observations[1:], masks[1:])[0].numpy()
        assert (found.dtype, found.shape) == (np.float32, (len(masks), 400))
        assert (found[masks == 0] == np.float32(ILLEGAL)).all()
        np.testing.assert_allclose(found, here, rtol=0, atol=1e-4)
        assert masks[np.arange(1, len(masks)), found[1:].argmax(axis=1)].all()
        model = OnnxPolicy(file)
        logs, values = model.evaluate(observations[1:], masks[1:])
        np.testing.assert_allclose(logs[masks[1:] == 1], their_logs[masks[1:] == 1], rtol=0, atol=1e-4)
        assert np.isneginf(logs[masks[1:] == 0]).all()
        assert not values.any()
    assert (model.rules, model.objective, model.notes, model.values_trained) == ("rlcard", "stake", {"seed": 3}, False)


def test_the_shipped_one_is_written_without_any_extra_and_agrees_with_the_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    for name in ("onnx", "onnxscript", "ddz_agents.neural.network"):
        monkeypatch.setitem(sys.modules, name, None)
    out = tmp_path / "out" / "standalone.onnx"
    done = CliRunner().invoke(app, ["export", "--standalone", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_bytes() == shipped_standalone_path().read_bytes()
    agent, teacher = make_agent(f"policy:path={out}"), make_agent("policy")
    observations, masks, _ = decisions("standard", 60)
    choices = [one.model.evaluate(observations, masks)[0].argmax(axis=1) for one in (agent, teacher)]  # type: ignore[attr-defined]
    assert (choices[0] == choices[1]).mean() > 0.7
    logits = alone(out, observations, masks, tmp_path)
    assert (logits[masks == 0] == np.float32(ILLEGAL)).all()
    (here,) = agent.model._run(observations, masks)  # type: ignore[attr-defined]
    np.testing.assert_allclose(logits, here, rtol=0, atol=1e-4)
    assert (logits.argmax(axis=1) == choices[0]).all()


def test_the_example_of_the_docs_plays_a_game() -> None:
    pytest.importorskip("onnxruntime")
    [source] = re.findall(r"```python\n(def load.*?)```", LEARNING.read_text(encoding="utf-8"), re.DOTALL)
    given: dict[str, Any] = {}
    exec(compile(source, str(LEARNING), "exec", optimize=0), given)
    choose, env = given["load"](str(shipped_standalone_path())), dou_dizhu_v0.env()
    env.reset(seed=1)
    for _ in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        env.step(None if termination or truncation else choose(observation))
    assert reward != 0


def test_a_student_comes_to_agree_and_a_run_continues_to_the_bit(tmp_path: Path) -> None:
    agreement = list[float]()
    whole = Distillation(config(6_000), threads=1)
    whole.run(tmp_path / "whole", lambda progress: agreement.append(progress.agreement))
    assert np.mean(agreement[-10:]) > np.mean(agreement[:5]) + 0.1
    half, steps = Distillation(config(6_000), threads=2), itertools.count(1)
    half.run(tmp_path / "half", stop=lambda: next(steps) > 15)
    assert 0 < half.decisions < whole.decisions
    Distillation.resume(tmp_path / "half", config(6_000), threads=1).run(tmp_path / "half")
    states = [load_standalone(tmp_path / name).policy.state_dict() for name in ("whole", "half")]
    assert all(torch.equal(weight, states[1][name]) for name, weight in states[0].items())


@pytest.mark.parametrize(("seconds", "last"), [(0.0, 2), (1e9, 0)])
def test_it_is_saved_from_its_first_step_on(
    seconds: float, last: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SECONDS", seconds)
    seen = list[int]()

    def fall(progress: ImitationProgress) -> None:
        seen.append(progress.decisions)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Distillation(config(), threads=1).run(tmp_path / "run", fall)
    assert load_standalone(tmp_path / "run").notes["decisions"] == seen[last]


def test_a_run_is_resumed_under_its_own_settings_with_its_teacher_and_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teacher, path = tmp_path / "teacher.safetensors", tmp_path / "run"
    save_weights(teacher, Weights(*small_networks()))
    Distillation(config(500), teacher, 1).run(path)
    with pytest.raises(CheckpointMismatchError, match="under other settings"):
        Distillation.resume(path, config(500, seed=1), teacher, 1)
    save_weights(teacher, Weights(*small_networks(1)))
    with pytest.raises(AgentChangedError, match=r"teacher\.safetensors was"):
        Distillation.resume(path, config(500), teacher, 1)
    save_weights(teacher, Weights(*small_networks()))
    monkeypatch.setattr(provenance, "code_stamp", lambda *folders: "0.1.0 other")
    with pytest.raises(OtherCodeError):
        Distillation.resume(path, config(500), teacher, 1)


def test_the_commands_distil_and_say_what_is_wrong(tmp_path: Path) -> None:
    out = tmp_path / "student.safetensors"
    done = CliRunner().invoke(app, ["train", "distil", "--decisions", "300", "--threads", "1", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "after" in done.output
    student = load_standalone(out)
    assert (student.rules, student.objective) == ("standard", read_policy(shipped_policy_path()).objective)
    options = ["--standalone", "--out", str(tmp_path / "x.onnx")]
    refused = CliRunner().invoke(app, ["export", str(shipped_policy_path()), *options])
    assert refused.exit_code == 2
    assert "ddz train distil" in refused.stderr
    with pytest.raises(TensorFileError, match="no such file"):
        load_standalone(tmp_path / "nothing")
    with pytest.raises(TensorFileMismatchError, match="ddz-standalone"):
        read_policy(out)
