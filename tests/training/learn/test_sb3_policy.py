"""Policies trained with MaskablePPO: what they say under a mask, and that nothing is unpickled without trust."""

from __future__ import annotations

import base64
import functools
import json
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces, wrappers
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize

from ddz_agents.neural import errors
from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural.onnx_policy import OnnxPolicy
from ddz_agents.neural.sb3_policy import Sb3Module, load_sb3_policy
from ddz_agents.neural.torch_model import TorchModel
from ddz_env import State
from ddz_env.envs.batch import SelfPlayBatch
from ddz_env.envs.gym import DouDizhuEnv
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidAgentOptionError
from ddz_training.learn.sb3.train import Sb3Config
from ddz_training.learn.sb3.vec_env import MaskedVecEnv, make_games
from tests.training.cli.terminal import done, refused
from tests.training.learn.test_sb3 import trained as train


@pytest.fixture(scope="module")
def model() -> MaskablePPO:
    env = MaskedVecEnv(make_games(2, threads=1))
    return MaskablePPO("MlpPolicy", env, n_steps=8, policy_kwargs={"net_arch": [16]}, seed=0, device="cpu")


@pytest.fixture(scope="module")
def saved(model: MaskablePPO, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sb3") / "model.zip"
    model.save(path)
    return path


class Touch:
    """Unpickling it creates a file, in place of the other things that a pickle may do."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def poison(path: Path, out: Path, mark: Path) -> None:
    """Copy a model's zip with one more pickled object in it, which creates ``mark`` when it is unpickled."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "data":
                data = json.loads(content)
                text = base64.b64encode(cloudpickle.dumps(Touch(mark))).decode()
                data["gift"] = {":type:": "a gift", ":serialized:": text}
                content = json.dumps(data).encode()
            target.writestr(name, content)


def test_probabilities_are_those_of_sb3_under_the_mask(model: MaskablePPO) -> None:
    batch = SelfPlayBatch(50, seed=3, threads=1)
    for _ in range(20):
        batch.step(batch.sample_actions())
    policy = TorchModel(Sb3Module(model.policy), "int8")
    assert isinstance(policy, PolicyModel)
    table, values = policy.evaluate(batch.observation, batch.mask)
    assert (np.isneginf(table) == (batch.mask == 0)).all()
    assert np.exp(table).sum(axis=1) == pytest.approx(1, abs=1e-5)
    with torch.no_grad():
        seen = torch.from_numpy(batch.observation.copy())
        theirs: Any = model.policy.get_distribution(seen, action_masks=batch.mask.astype(bool)).distribution
        legal = batch.mask != 0
        assert table[legal] == pytest.approx(theirs.logits.numpy()[legal], abs=1e-4)
        assert values == pytest.approx(model.policy.predict_values(seen).numpy()[:, 0].clip(-1, 1), abs=1e-6)
    assert (table.dtype, values.dtype) == (np.dtype(np.float32), np.dtype(np.float32))
    with pytest.raises(errors.InvalidPolicyInputError, match="no legal action"):
        policy.evaluate(batch.observation, np.zeros_like(batch.mask))


@pytest.mark.parametrize("positions", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_runs_files_answer_as_sb3_predicts(positions: int, tmp_path: Path) -> None:
    config = Sb3Config(num_envs=8, n_steps=16, width=32, rules="rlcard", objective="stake", eval_freq=0)
    model = train(config, tmp_path, 256)
    batch = SelfPlayBatch(positions, rules="rlcard", seed=5, threads=1)
    for _ in range(20):
        batch.step(batch.sample_actions())
    predicted, _ = model.predict(batch.observation, action_masks=batch.mask != 0, deterministic=True)
    written, zipped = load_policy(tmp_path / "policy.onnx"), load_policy(tmp_path / "model.zip", trust_file=True)
    for policy in (written, zipped):
        assert (policy.evaluate(batch.observation, batch.mask)[0].argmax(1) == predicted).all()
    assert isinstance(written, OnnxPolicy)
    assert (written.rules, written.objective, written.leaf, zipped.leaf) == ("rlcard", "stake", "playout", "value")


def test_the_command_writes_the_policy_of_a_zip(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "policy.onnx"
    done("export", saved, "--trust", "--rules", "mini", "--objective", "stake", "--out", out)
    written = load_policy(out)
    assert isinstance(written, OnnxPolicy)
    assert (written.rules, written.objective) == ("mini", "stake")


def test_a_training_without_onnx_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    train(Sb3Config(num_envs=2, n_steps=4, width=8, rules="mini", eval_freq=0), tmp_path, 8)
    assert (tmp_path / "model.zip").is_file()
    assert not (tmp_path / "policy.onnx").exists()


def test_a_zip_is_an_agent_by_name_if_it_is_trusted(saved: Path, model: MaskablePPO) -> None:
    agent = make_agent(f"policy:path={saved},trust_file=true")
    ours = ModelAgent(TorchModel(Sb3Module(model.policy), "int8"))
    games = [
        play_game(State.new(4, "rlcard"), [player] * 3, make_seat_generators([4, 0], 3)) for player in (agent, ours)
    ]
    assert games[0].is_over
    assert games[0] == games[1]


def test_an_agent_unpickles_nothing_unless_trust_is_true(saved: Path, tmp_path: Path) -> None:
    gift, mark = tmp_path / "gift.zip", tmp_path / "mark"
    poison(saved, gift, mark)
    for trust in ("", ",trust_file=false"):
        with pytest.raises(errors.UntrustedFileError, match=r"write '?policy:path=.*gift\.zip,trust_file=true"):
            make_agent(f"policy:path={gift}{trust}")
    for trust in ("1", "yes"):
        with pytest.raises(InvalidAgentOptionError, match="true or false"):
            make_agent(f"policy:path={gift},trust_file={trust}")
    assert not mark.exists()


def test_resuming_unpickles_nothing_without_trust(tmp_path: Path) -> None:
    config = Sb3Config(num_envs=2, n_steps=4, width=8, rules="mini", eval_freq=0)
    train(config, tmp_path / "run", 8)
    mark, path = tmp_path / "mark", tmp_path / "run" / "model.zip"
    poison(path, tmp_path / "gift.zip", mark)
    shutil.move(tmp_path / "gift.zip", path)
    assert "write --trust" in refused("train", "sb3", "--out", tmp_path / "run", "--resume")
    assert not mark.exists()
    train(config, tmp_path / "run", 16, resume=True)
    assert mark.exists()  # or the tests around this one would prove nothing


def test_files_that_are_no_such_model_are_refused_by_name(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.TensorFileError, match="is missing"):
        load_sb3_policy(tmp_path / "nothing.zip", trust_file=True)
    data, path = saved.read_bytes(), tmp_path / "broken.zip"
    for part in (data[:0], data[:1000], data[: len(data) // 2]):
        path.write_bytes(part)
        with pytest.raises(errors.TensorFileError, match=r"or was truncated|can be read here"):
            load_sb3_policy(path, trust_file=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", "{}")
        for number in range(5):
            with archive.open(zipfile.ZipInfo(f"weights {number}"), "w", force_zip64=True) as member:
                member.write(b"0")
        for member in archive.filelist[1:]:
            member.file_size = 2**30
    with pytest.raises(errors.TensorFileError, match=r"holds 5\.0 GiB"):
        load_sb3_policy(path, trust_file=True)
    PPO("MlpPolicy", DouDizhuEnv(), n_steps=8, batch_size=8, device="cpu").save(path)
    with pytest.raises(errors.TensorFileMismatchError, match="holds no MaskablePPO"):
        load_sb3_policy(path, trust_file=True)


def test_weights_that_are_not_finite_are_refused_when_they_are_read(saved: Path, tmp_path: Path) -> None:
    broken = MaskablePPO.load(saved)
    broken.policy.action_net.bias.data[7] = torch.nan
    broken.save(tmp_path / "model.zip")
    with pytest.raises(errors.InvalidPolicyOutputError, match="logits are NaN or infinite"):
        load_sb3_policy(tmp_path / "model.zip", trust_file=True)


def learned(env: Any, path: Path) -> MaskablePPO:
    """A model that was trained for a moment and saved."""
    kind = "MultiInputPolicy" if isinstance(env.observation_space, spaces.Dict) else "MlpPolicy"
    net = {"net_arch": [16]}
    model = MaskablePPO(kind, env, seed=0, n_steps=4, batch_size=4, policy_kwargs=net, device="cpu")
    model.learn(4)
    model.save(path)
    return model


def made(*wrappers: Any, **form: Any) -> gymnasium.Env[Any, Any]:
    env: gymnasium.Env[Any, Any] = DouDizhuEnv(role="landlord", **form)
    for wrap in wrappers:
        env = wrap(env)
    return env


FLAT, FLOATS = wrappers.FlattenObservation, functools.partial(wrappers.DtypeObservation, dtype=np.float32)
FORMS: dict[str, Callable[[], gymnasium.Env[Any, Any]]] = {
    "int8": made,
    "float32": lambda: made(dtype="float32"),
    "dict": lambda: made(observation="dict", observation_key="zebra"),
    "dict of float32": lambda: made(observation="dict", dtype="float32"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_model_is_shown_what_it_was_trained_on(form: str, tmp_path: Path) -> None:
    """Its own value of an observation in its own form is what a loaded one says of the same position."""
    env = FORMS[form]()
    model = learned(env, tmp_path / "m.zip")
    loaded = load_sb3_policy(tmp_path / "m.zip", trust_file=True)
    guide = make_agent(f"neural-ismcts:path={tmp_path / 'm.zip'},trust_file=true").model
    shown, info = env.reset(seed=5)
    for _ in range(6):
        seen, mask = env.unwrapped._games.observation.copy(), info["action_mask"][None]  # type: ignore[attr-defined]
        table, values = loaded.evaluate(seen, mask)
        with torch.no_grad():
            theirs, _ = model.policy.obs_to_tensor(shown)
            assert values == pytest.approx(model.policy.predict_values(theirs).numpy()[:, 0].clip(-1, 1), abs=1e-6)
            said: Any = model.policy.get_distribution(theirs, action_masks=mask.astype(bool)).distribution
        assert table[mask != 0] == pytest.approx(said.logits.numpy()[mask != 0], abs=1e-4)
        assert (guide.evaluate(seen, mask)[0] == table).all()
        shown, *_, info = env.step(table[0].argmax())


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "stack": (lambda: made(lambda env: wrappers.FrameStackObservation(env, 4), FLAT), "has the observation space"),
    "VecFrameStack": (lambda: VecFrameStack(DummyVecEnv([made]), 3), "has the observation space"),
    "flattened": (lambda: made(FLAT, observation="dict"), "has the observation space"),
    "bytes as float32": (lambda: made(FLOATS), "has the observation space"),
    "normalized": (lambda: made(FLOATS, wrappers.NormalizeObservation), "has the observation space"),
    "VecNormalize": (lambda: VecNormalize(DummyVecEnv([FORMS["float32"]])), "as VecNormalize makes"),
    "VecNormalize, a dict": (lambda: VecNormalize(DummyVecEnv([FORMS["dict"]])), "as VecNormalize makes"),
    "other actions": (
        lambda: made(lambda env: wrappers.TransformAction(env, lambda a: a - 1, spaces.Discrete(400, start=1))),
        r"has the action space Discrete\(400, start=1\)",
    ),
}


@pytest.mark.parametrize("form", REFUSED)
def test_a_model_that_cannot_be_shown_what_it_was_trained_on_is_refused(form: str, tmp_path: Path) -> None:
    make, message = REFUSED[form]
    learned(make(), tmp_path / "m.zip")
    for name in ("policy", "neural-ismcts"):
        with pytest.raises(errors.TensorFileMismatchError, match=rf"m\.zip.*{message}.*a model can play if"):
            make_agent(f"{name}:path={tmp_path / 'm.zip'},trust_file=true")
