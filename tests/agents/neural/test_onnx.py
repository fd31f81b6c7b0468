"""ONNX: a module says what PyTorch's says, plays where there is none, and is refused when broken."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from ddz_agents.neural import onnx_files, tensor_file
from ddz_agents.neural.agent import ModelAgent, PolicyAgent
from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.errors import (
    InvalidPolicyInputError,
    InvalidPolicyOutputError,
    MissingOnnxError,
    OnnxExportError,
    TensorFileError,
    TensorFileMismatchError,
)
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural.onnx_files import save_policy, stamp_onnx
from ddz_agents.neural.onnx_policy import NO_DIGEST, OnnxPolicy, compute_digest
from ddz_agents.neural.shipped import policy_path
from ddz_agents.neural.weights import Weights, save_weights
from ddz_env import Rules, State
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import InvalidRulesError
from ddz_training.cli.app import app
from tests.agents.neural.test_networks import positions, said_without, shown, small_networks

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")
torch = pytest.importorskip("torch")

from ddz_agents.neural.torch_model import TorchModel  # noqa: E402

# Exporting takes seconds: one worker exports for all of them.


class Small(torch.nn.Module):  # type: ignore[misc, name-defined]  # torch may be missing
    """Somebody's own network, which reads the mask, too."""

    def __init__(self, width: int = 16, layers: int = 5) -> None:
        super().__init__()
        sizes = [512 + 400, *[width] * layers]
        hidden = [(torch.nn.Linear(size, width), torch.nn.Tanh()) for size in sizes]
        self.trunk = torch.nn.Sequential(*(part for parts in hidden for part in parts))
        self.logits, self.values = torch.nn.Linear(width, 400), torch.nn.Linear(width, 1)

    def forward(self, observations: Any, masks: Any) -> Any:
        inner = self.trunk(torch.cat((observations, masks.to(observations.dtype)), 1))
        return self.logits(inner), self.values(inner)


def small() -> Small:
    torch.manual_seed(0)
    return Small()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "policy.onnx"
    save_policy(small(), path, "rlcard", objective="stake", notes={"seed": 3, "name": "斗地主"})
    return path


def broken(model: onnx.ModelProto, path: Path, **changes: str) -> Path:
    """A file of other contents and metadata, with the digest that belongs to them."""
    properties = {entry.key: entry.value for entry in model.metadata_props}
    onnx.helper.set_model_props(model, properties | changes | {"digest": NO_DIGEST})
    data = model.SerializeToString()
    path.write_bytes(data.replace(NO_DIGEST.encode(), compute_digest(data, NO_DIGEST).encode()))
    return path


def test_probabilities_and_values_equal_pytorchs_at_every_stage(exported: Path) -> None:
    auction = dataclasses.replace(Rules.preset("bidding"), doubling=True)
    states = [state for rules in ("standard", "rlcard", "mini", auction) for state in positions(rules, 5)]
    assert {state.stage for state in states} == {"bid", "double", "play", "kicker"}
    observations, masks = shown(states)
    here, here_values = TorchModel(small()).evaluate(observations, masks)
    there, there_values = OnnxPolicy(exported).evaluate(observations, masks)
    assert (there.dtype, there.shape, there_values.dtype) == (here.dtype, here.shape, here_values.dtype)
    assert np.isneginf(there[masks == 0]).all()
    np.testing.assert_allclose(there[masks == 1], here[masks == 1], rtol=0, atol=1e-4)
    np.testing.assert_allclose(there_values, here_values, rtol=0, atol=1e-4)


def test_a_module_may_learn_from_bytes_and_answer_without_values(tmp_path: Path) -> None:
    class Half(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(512, 400, dtype=torch.float64)

        def forward(self, observations: Any, masks: Any) -> Any:
            return self.layer(observations)

    module = Half()
    save_policy(module, tmp_path / "p.onnx", dtype="int8")
    observations, masks = shown(positions("standard", 2))
    written, here = load_policy(tmp_path / "p.onnx"), TorchModel(module, "int8")
    assert written.leaf == here.leaf == "playout"
    for mine, theirs in zip(written.evaluate(observations, masks), here.evaluate(observations, masks), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("module", "named", "error", "message"),
    [
        (torch.nn.Linear(512, 400), {}, InvalidPolicyOutputError, "must take observations and masks"),
        (Small(), {"rules": "poker"}, InvalidRulesError, "poker"),
        (Small(), {"objective": "elo"}, TensorFileMismatchError, "objective='elo'"),
        (Small(), {"notes": {"model": object()}}, TensorFileError, "values that JSON can hold"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(
    module: Any, named: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        save_policy(module, tmp_path / "p.onnx", **named)
    assert not list(tmp_path.iterdir())


def test_the_file_says_what_it_is_for_and_its_suffix_what_reads_it(exported: Path, tmp_path: Path) -> None:
    agent = make_agent(f"policy:path={exported}")
    assert isinstance(agent, PolicyAgent)
    model = agent.model
    assert isinstance(model, OnnxPolicy)
    assert isinstance(model, PolicyModel)
    assert (model.rules, model.objective, model.notes) == ("rlcard", "stake", {"seed": 3, "name": "斗地主"})
    assert model.leaf == "playout"
    with pytest.raises(InvalidPolicyInputError, match="row 0 has no legal action"):
        model.evaluate(np.zeros((1, 512), np.int8), np.zeros((1, 400), np.int8))
    proto = onnx.load(exported)
    onnx.checker.check_model(proto)
    assert b"test_onnx.py" not in exported.read_bytes(), "no folder of the machine that wrote it"
    assert {prop.key: prop.value for prop in proto.metadata_props}["layout"] == tensor_file.layout_fingerprint()
    save_weights(tmp_path / "policy.safetensors", Weights.of(*small_networks()))
    assert isinstance(load_policy(tmp_path / "policy.safetensors"), CompiledPolicy)
    assert isinstance(load_policy(), CompiledPolicy)  # the shipped one


def test_it_plays_the_games_that_pytorch_plays_where_there_is_none(exported: Path, tmp_path: Path) -> None:
    program = (
        "from ddz_env import State\n"
        "from ddz_env.playing.game import play_game, make_seat_generators\n"
        "from ddz_env.playing.registry import make_agent\n"
        f"agent = make_agent('policy:path={exported.as_posix()}')\n"
        "for seed in range(3):\n"
        "    print(*play_game(State.new(seed), [agent] * 3, make_seat_generators([seed, 0], 3)).history)\n"
    )
    agent = ModelAgent(TorchModel(small()))
    games = [play_game(State.new(seed), [agent] * 3, make_seat_generators([seed, 0], 3)) for seed in range(3)]
    said = said_without(("torch", "safetensors", "onnx", "onnxscript"), program, tmp_path)
    assert said == [" ".join(map(str, game.history)) for game in games]


def test_a_file_that_is_no_whole_policy_is_refused(exported: Path, tmp_path: Path) -> None:
    """Cut off, something else, or with a bit flipped wherever it is."""
    path, data, rng = tmp_path / "policy.onnx", exported.read_bytes(), np.random.default_rng(0)
    with pytest.raises(TensorFileError, match="there is no such file"):
        OnnxPolicy(path)
    path.write_text("no policy at all")
    with pytest.raises(TensorFileError, match="is not an ONNX file"):
        OnnxPolicy(path)
    spoiled = [data[:length] for length in (0, 100, len(data) - 1)]
    for place in rng.integers(0, len(data), 25).tolist():
        flipped = data[place] ^ 1 << int(rng.integers(8))
        spoiled.append(data[:place] + bytes([flipped]) + data[place + 1 :])
    for left in spoiled:
        path.write_bytes(left)
        with pytest.raises(TensorFileError):
            OnnxPolicy(path)


def test_a_weight_that_is_not_finite_is_refused_when_it_is_read(exported: Path, tmp_path: Path) -> None:
    path, found = tmp_path / "policy.onnx", 0
    observations, masks = shown(positions("standard", 3))
    for number, weight in enumerate(onnx.load(exported).graph.initializer):
        if weight.data_type != onnx.TensorProto.FLOAT or not weight.raw_data:
            continue
        model = onnx.load(exported)
        numbers = np.frombuffer(weight.raw_data, np.float32).copy()
        numbers[0] = np.nan
        model.graph.initializer[number].raw_data = numbers.tobytes()
        broken(model, path)
        with pytest.raises(TensorFileError, match="not finite"):  # at once, or at the first position that needs it
            OnnxPolicy(path).evaluate(observations, masks)
        found += 1
    assert found > 10


@pytest.mark.parametrize(
    "changes",
    [
        {"notes": "no JSON"},
        {"notes": "[" * 100_000},
        {"objective": "elo"},
        {"values_trained": "perhaps"},
        {"rules": "no such rules"},
    ],
)
def test_metadata_that_are_no_plain_data_are_refused(changes: dict[str, str], exported: Path, tmp_path: Path) -> None:
    path = broken(onnx.load(exported), tmp_path / "p.onnx", **changes)
    with pytest.raises(TensorFileMismatchError, match=r"has (invalid )?metadata"):
        OnnxPolicy(path)


def without_text(exported: Path, path: Path) -> None:
    path.write_bytes(exported.read_bytes().replace(b"rlcard", b"\xffcard"))


def only_row(row: int) -> Callable[[Path, Path], object]:
    """Writes a graph that answers one of its rows, whatever their number."""

    def write(exported: Path, path: Path) -> None:
        model = onnx.load(exported)
        for name in ("logits", "values"):
            [node] = [node for node in model.graph.node if name in node.output]
            node.output[:] = [f"all {name}"]
            model.graph.node.append(onnx.helper.make_node("Gather", [f"all {name}", "row"], [name]))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([row]), "row"))
        broken(model, path)

    return write


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (without_text, "is corrupt: its metadata are not text"),
        (only_row(0), "answers 2 rows with logits of shape"),
        (only_row(7), "cannot be run: "),
    ],
)
def test_what_onnx_runtime_cannot_read_or_run_is_an_error_of_ours(
    write: Callable[[Path, Path], object], message: str, exported: Path, tmp_path: Path
) -> None:
    write(exported, tmp_path / "policy.onnx")
    with pytest.raises(TensorFileError, match=message):
        OnnxPolicy(tmp_path / "policy.onnx")


def own_network(path: Path, *, out: str = "logits", kind: int = onnx.TensorProto.INT8, rows: str | int = "n") -> Path:
    """Somebody's own network with the documented inputs and output: it prefers high ids."""
    value, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    inputs = [value("observation", kind, [rows, 512]), value("action_mask", onnx.TensorProto.INT8, [rows, 400])]
    ids = onnx.numpy_helper.from_array(np.arange(400, dtype=np.float32), "ids")
    nodes = [node("Cast", ["action_mask"], ["m"], to=onnx.TensorProto.FLOAT), node("Mul", ["m", "ids"], [out])]
    graph = onnx.helper.make_graph(nodes, "own", inputs, [value(out, onnx.TensorProto.FLOAT, [rows, 400])], [ids])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    onnx.helper.set_model_props(model, {"author": "me"})
    path.write_bytes(model.SerializeToString())
    return path


def test_an_own_network_plays_once_it_is_stamped(tmp_path: Path) -> None:
    path, out = own_network(tmp_path / "own.onnx"), tmp_path / "player.onnx"
    with pytest.raises(TensorFileMismatchError, match=r"stamp_onnx\(path, out, rules"):
        make_agent(f"policy:path={path}")
    stamp_onnx(path, out, rules="rlcard", objective="stake", notes={"epochs": 3})
    agent = make_agent(f"policy:path={out}")
    assert agent.act(State.new(4).view(), np.random.default_rng(0)).main == max(State.new(4).legal_actions())
    assert (agent.model.rules, agent.model.objective, agent.model.notes) == ("rlcard", "stake", {"epochs": 3})
    assert {entry.key: entry.value for entry in onnx.load(out).metadata_props}["author"] == "me"
    assert make_agent(f"neural-ismcts:path={out},iterations=8").model.leaf == "playout"
    out.write_bytes(out.read_bytes().replace(b"rlcard", b"rlcarb"))
    with pytest.raises(TensorFileError, match="is corrupt"):
        OnnxPolicy(out)


def test_what_cannot_be_stamped_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path, out = tmp_path / "own.onnx", tmp_path / "player.onnx"
    for changes, message in (
        ({"out": "scores"}, "has the outputs"),
        ({"kind": onnx.TensorProto.FLOAT}, "has the inputs"),
        ({"rows": 1}, "does not take two rows"),
    ):
        with pytest.raises(TensorFileMismatchError, match=message):
            stamp_onnx(own_network(path, **changes), out)
    beside = onnx.load(own_network(path))
    onnx.save(beside, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    with pytest.raises(TensorFileError, match="External data"):
        stamp_onnx(Path(path.name), out)
    own_network(path)
    with pytest.raises(InvalidRulesError):
        stamp_onnx(path, out, rules="poker")
    with pytest.raises(TensorFileMismatchError, match="objective='elo'"):
        stamp_onnx(path, out, objective="elo")
    with pytest.raises(TensorFileError, match="values that JSON can hold"):
        stamp_onnx(path, out, notes={"model": object()})
    assert not out.exists()


def test_networks_of_others_and_of_other_layouts_are_refused(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, own = tmp_path / "p.onnx", onnx.load(own_network(tmp_path / "own.onnx", kind=onnx.TensorProto.FLOAT))
    for heading, message in (
        ({}, "has no metadata of this package"),
        (tensor_file.make_heading("ddz-standalone-onnx", 1), "has the inputs"),
        (tensor_file.make_heading("ddz-standalone-onnx", 2), "this package reads 1"),
        (tensor_file.make_heading("ddz-policy-onnx", 2), "inputs that only this package computes"),
    ):
        with pytest.raises(TensorFileMismatchError, match=message):
            OnnxPolicy(broken(own, path, **heading))
    monkeypatch.setattr(tensor_file, "readable_layouts", lambda: frozenset({"0" * 16}))
    with pytest.raises(TensorFileMismatchError, match="with the fingerprint"):
        OnnxPolicy(exported)


def test_without_onnx_or_with_an_old_pytorch_the_errors_say_what_to_install(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(onnx_files, "_OLDEST", "99.0")
        with pytest.raises(OnnxExportError, match=r"99\.0 or newer"):
            save_policy(small(), tmp_path / "policy.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingOnnxError, match=r"pip install -e '\.\[onnx\]'"):
        OnnxPolicy(exported)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(MissingOnnxError, match=r"pip install -e '\.\[onnx\]'"):
        save_policy(small(), tmp_path / "policy.onnx")
    assert not list(tmp_path.iterdir())


def exported_by_command(*options: str) -> str:
    done = CliRunner().invoke(app, ["export", *options])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_writes_the_policy_of_bytes_or_weights_in_half_precision(tmp_path: Path) -> None:
    """Half the size, and the same players up to rounding."""
    weights, whole, half = policy_path("policy-v1"), tmp_path / "out" / "policy.onnx", tmp_path / "half.safetensors"
    assert "standard rules, win" in exported_by_command("--out", str(whole))
    assert whole.read_bytes() == policy_path("policy-raw").read_bytes()
    assert "standard rules, win, half precision" in exported_by_command(str(weights), "--half", "--out", str(half))
    assert half.stat().st_size < 0.51 * weights.stat().st_size
    observations, masks = shown(positions("standard", 1))
    here, rounded = (model.evaluate(observations, masks)[0] for model in (load_policy(weights), load_policy(half)))
    np.testing.assert_allclose(np.exp(rounded), np.exp(here), rtol=0, atol=0.02)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["mine.safetensors", "--half", "--out", "half.safetensors"], "mine.safetensors: there is no such file"),
        (["policy-v3", "--out", "policy.onnx"], "policy-v3.safetensors reads hand values that only this package"),
        (["policy-raw", "--half", "--out", "half.safetensors"], "is not a file of this package's weights"),
        (["mine.zip", "--out", "policy.onnx"], "write --trust"),
        (["--half", "--out", "half.onnx"], "must end in .safetensors"),
        (["mine.onnx", "--out", "policy.onnx"], "mine.onnx is an ONNX file already"),
    ],
)
def test_what_the_command_cannot_export_is_named(options: list[str], said: str) -> None:
    refused = CliRunner().invoke(app, ["export", *options])
    assert refused.exit_code == 2
    assert said in refused.stderr
