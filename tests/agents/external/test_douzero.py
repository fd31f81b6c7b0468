"""DouZero's checkpoints as an agent: the features, values and moves of the released package, decision by decision."""

from __future__ import annotations

import shutil
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ddz_agents.external.douzero import agent as douzero_agent
from ddz_agents.external.douzero.agent import Candidates, DouZeroAgent
from ddz_agents.external.douzero.features import (
    POSITIONS,
    ROUND_COLUMNS,
    ROUNDS,
    find_roles,
    history_columns,
    move_columns,
    state_columns,
)
from ddz_agents.external.douzero.network import new_networks
from ddz_agents.neural.errors import MissingTorchError, TensorFileError, TensorFileMismatchError
from ddz_agents.neural.shipped import policy_path
from ddz_env import PRESETS, Move, State, View
from ddz_env.core.engine.layout import MOVES
from ddz_env.core.engine.moves import list_all_moves
from ddz_env.core.observation import observe
from ddz_env.playing.game import make_seat_generators, play_game
from ddz_env.playing.many import WaitingGames
from ddz_env.playing.registry import make_agent
from ddz_env.support.errors import IllegalMoveError, InvalidAgentOptionError, InvalidRulesError
from ddz_training.measure.provenance import digest_agent_files
from tests.oracles.positions import random_deal, rare_positions, row_of

pytest.importorskip("safetensors")

NAMES = tuple(position.name for position in POSITIONS)
NOISE = 1e-5
"""Sums in another order."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints with random weights; larger ones than PyTorch's, so that values lie apart."""
    made = tmp_path_factory.mktemp("douzero")
    generator = torch.Generator().manual_seed(0)
    for name, network in new_networks().items():
        state = network.state_dict()
        for tensor in state.values():
            tensor.mul_(2).add_(0.01 * torch.randn(tensor.shape, generator=generator))
        torch.save(state, made / f"{name}.ckpt")
    return made


@pytest.fixture(scope="module")
def agent(folder: Path) -> DouZeroAgent:
    return DouZeroAgent(folder)


class Theirs:
    def __init__(self, folder: Path) -> None:
        pytest.importorskip("douzero")
        sys.modules.setdefault("git", types.ModuleType("git"))  # the package wants it to log trainings
        from douzero.env.env import get_obs
        from douzero.evaluation.deep_agent import DeepAgent

        self.features: Callable[[Any], dict[str, Any]] = get_obs
        self.agents = {name: DeepAgent(name, str(folder / f"{name}.ckpt")) for name in NAMES}

    def values(self, position: str, seen: dict[str, Any]) -> np.ndarray[Any, Any]:
        tensors = (torch.from_numpy(seen[name]) for name in ("z_batch", "x_batch"))
        with torch.inference_mode():
            found = self.agents[position].model(*tensors, return_value=True)["values"]
        return np.asarray(found.numpy()[:, 0])


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Theirs:
    return Theirs(folder)


def compare(theirs: Theirs, agent: DouZeroAgent, infoset: Any, view: View) -> tuple[Move, int]:
    """Compare a decision; return ours, and the role or -1 where nothing was to be chosen."""
    from tests.env.peers.test_peers_douzero import move_cards

    actions = [tuple(sorted(action)) for action in infoset.legal_actions]
    move = agent.act(view, np.random.default_rng(0))
    chosen = move_cards(move)
    role = view.seat
    assert infoset.player_position == NAMES[role]
    if len(actions) == 1:
        assert chosen == actions[0]
        return move, -1
    seen, observation = theirs.features(infoset), observe(view)[None]
    candidates = Candidates(*list_all_moves(view.row, view.rule_words))
    assert find_roles(observation).tolist() == [role]
    assert np.array_equal(history_columns(observation)[0], seen["z"])
    assert np.array_equal(state_columns(observation, POSITIONS[role])[0], seen["x_no_action"])
    order = {move_cards(candidates.move(index)): index for index in range(len(candidates.mains))}
    places = [order[action] for action in actions]
    assert np.array_equal(move_columns(*candidates)[places], seen["x_batch"][:, -54:])
    expected, own = theirs.values(NAMES[role], seen), agent.evaluate(observation, [candidates])[0]
    assert np.abs(own[places] - expected).max() < NOISE
    best = actions[int(expected.argmax())]
    if view.row[MOVES] % 8 == 0:  # the same once more, by their agent itself
        assert best == tuple(sorted(theirs.agents[NAMES[role]].act(infoset)))
    # Moves whose values differ by rounding alone are equally good.
    assert chosen == best or expected.max() - expected[actions.index(chosen)] < NOISE
    return move, role


@pytest.mark.parametrize(("number", "seed"), [(100, 1), pytest.param(10_000, 2, marks=pytest.mark.long)])
def test_decisions_are_those_of_the_released_package(
    number: int, seed: int, theirs: Theirs, agent: DouZeroAgent
) -> None:
    """In DouZero's games, half of the moves its own and half at random."""
    from tests.env.peers.test_peers_douzero import Peer, move_cards

    rules, rng = PRESETS["douzero"], np.random.default_rng(seed)
    counts = np.zeros(4, int)
    while counts[:3].sum() < number:
        deal = random_deal(rules, rng)
        peer, state = Peer(deal), State(row_of(deal, rules), rules)
        while not state.is_over:
            move, role = compare(theirs, agent, peer.env.game_infoset, state.view())
            counts[role] += 1
            if rng.random() < 0.5:
                moves = state.legal_moves()
                move = moves[int(rng.integers(len(moves)))]
            peer.play(move_cards(move))
            state.step(move)
    assert (counts[:3] > number // 5).all()


@pytest.mark.long
def test_decisions_in_bunched_deals_are_those_of_the_released_package(theirs: Theirs, agent: DouZeroAgent) -> None:
    """Bombs, planes with kickers, hundreds of moves."""
    from tests.env.peers.test_peers_douzero import Peer, move_cards

    rules = PRESETS["douzero"]
    for position in rare_positions(rules, 1_000, 3):
        peer = Peer(position.deal, position.leader)
        state = State(row_of(position.deal, rules, position.leader), rules)
        for move in position.moves:
            peer.play(move_cards(Move(*move)))
            state.step(Move(*move))
        compare(theirs, agent, peer.env.game_infoset, state.view())


@pytest.mark.parametrize("preset", [name for name, rules in PRESETS.items() if rules.players == 3])
def test_it_plays_every_game_of_three(preset: str, agent: DouZeroAgent) -> None:
    """Auctions as ``rules`` does; moves that DouZero does not know (shuttles) by their cards."""
    assert play_game(State.new(5, preset), [agent] * 3, make_seat_generators([5, 0], 3)).is_over


def test_values_are_those_of_the_moves_and_the_best_is_played(agent: DouZeroAgent) -> None:
    view = State.new(3, "douzero").view()
    values = agent.values(view)
    assert list(values) == view.legal_moves()
    assert agent.act(view, np.random.default_rng(0)) == max(values, key=values.__getitem__)
    with pytest.raises(IllegalMoveError, match="seat 1 has nothing to decide"):
        agent.values(State.new(3, "douzero").view(1))


def test_hidden_cards_change_no_value_and_open_hands_are_what_the_others_may_hold(agent: DouZeroAgent) -> None:
    one, other = ["334455", "66778", "99TTJ"], ["334455", "99TTJ", "66778"]
    state, permuted = (State.from_hands(hands, check_sizes=False) for hands in (one, other))
    assert agent.values(state.view()) == agent.values(permuted.view())
    shown = State.from_hands(one, rules="perfect", check_sizes=False)
    observations = [observe(game.view())[None] for game in (state, shown)]
    assert np.array_equal(*(state_columns(observation, POSITIONS[0]) for observation in observations))


def test_a_batch_of_views_gets_the_moves_of_its_views(agent: DouZeroAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(douzero_agent, "_AT_ONCE", 3)  # portions too
    rng = np.random.default_rng(0)
    for preset in ("douzero", "bidding"):
        views = [State.new(2, preset, game).view() for game in range(4)]
        moves = agent.act_many(WaitingGames.from_views(views, [rng] * len(views))).tolist()
        assert [Move.from_words(*move) for move in moves] == [agent.act(view, rng) for view in views]


def test_a_half_built_move_and_games_of_two_are_refused(agent: DouZeroAgent) -> None:
    rng, state = np.random.default_rng(0), State.from_hands(["33345", "6", "7"], check_sizes=False)
    state.step_action(Move.parse("333+4").main)
    with pytest.raises(IllegalMoveError, match="decides nothing in the stage kicker"):
        agent.act(state.view(), rng)
    with pytest.raises(InvalidRulesError, match="mini"):
        agent.act(State.new(1, "mini").view(), rng)


def test_the_checkpoint_of_a_whole_training_is_read(folder: Path, tmp_path: Path, agent: DouZeroAgent) -> None:
    """In the form that DouZero's training writes, and cut into roles."""
    states = {name: torch.load(folder / f"{name}.ckpt", weights_only=True) for name in NAMES}
    view = State.new(3, "douzero").view()
    expected = agent.values(view)
    whole = {"model_state_dict": states, "stats": {"loss": 0.1}, "flags": {"xpid": "x"}, "frames": 3}
    torch.save(whole, tmp_path / "model.tar")
    assert DouZeroAgent(tmp_path / "model.tar").values(view) == expected
    for name, state in states.items():
        torch.save({"model_state_dict": state}, tmp_path / f"{name}.ckpt")
    assert DouZeroAgent(tmp_path).values(view) == expected
    for name, state in states.items():
        (tmp_path / f"{name}.ckpt").unlink()
        for frames, weights in ((900, {}), (12_000, state)):
            torch.save(weights, tmp_path / f"{name}_weights_{frames}.ckpt")
    assert DouZeroAgent(tmp_path).values(view) == expected
    with pytest.raises(TensorFileMismatchError, match="holds one role: name a folder"):
        DouZeroAgent(tmp_path / "landlord_weights_12000.ckpt")


def broken(folder: Path, tmp_path: Path, change: Callable[[dict[str, Any]], Any], role: str = "landlord") -> Path:
    for name in NAMES:
        shutil.copy(folder / f"{name}.ckpt", tmp_path)
    torch.save(change(torch.load(folder / f"{role}.ckpt", weights_only=True)), tmp_path / f"{role}.ckpt")
    return tmp_path


def test_what_is_not_of_the_network_is_refused(folder: Path, tmp_path: Path) -> None:
    def of(bias: Any) -> Path:
        return broken(folder, tmp_path, lambda state: {**state, "dense6.bias": bias})

    with pytest.raises(TensorFileError, match=r"dense6.bias holds numbers that are not finite"):
        DouZeroAgent(of(torch.full((1,), torch.nan)))

    def huge(state: dict[str, Any]) -> dict[str, Any]:
        return {name: torch.full_like(weight, 3e38) for name, weight in state.items()}

    for role in NAMES:
        with pytest.raises(TensorFileError, match="computes values of moves that are not finite"):
            DouZeroAgent(broken(folder, tmp_path, huge, role))
    for bias in (torch.zeros(2), torch.zeros(1).to_sparse(), 3):
        with pytest.raises(TensorFileMismatchError, match=r"dense6.bias"):
            DouZeroAgent(of(bias))


class Bad:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("this file runs code",))


def test_damaged_files_and_files_with_code_are_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(TensorFileError, match=r"landlord.ckpt: there is no such file"):
        DouZeroAgent(tmp_path)
    path = broken(folder, tmp_path, lambda state: Bad()) / "landlord.ckpt"
    with pytest.raises(TensorFileError, match="more than tensors"):
        DouZeroAgent(tmp_path)
    assert "runs code" not in capsys.readouterr().out
    data = (folder / "landlord.ckpt").read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    for junk in (bytes(flipped), b"", b"junk", data[: len(data) // 2], data[:100], b"\x80\x02}q\x00."):
        path.write_bytes(junk)
        with pytest.raises(TensorFileError, match=r"landlord.ckpt"):
            DouZeroAgent(tmp_path)
    with path.open("wb") as file:
        file.truncate(40 * 2**30)
    with pytest.raises(TensorFileError, match=r"landlord.ckpt holds 40\.0 GiB"):
        DouZeroAgent(tmp_path)


def onnx_model(state: dict[str, torch.Tensor]) -> Any:
    """A role's network in the form of the public mirror: a row of both inputs for each move."""
    onnx = pytest.importorskip("onnx")
    node, floats = onnx.helper.make_node, onnx.TensorProto.FLOAT
    arrays = {name: tensor.numpy() for name, tensor in state.items()}

    def gates(name: str) -> Any:
        """ONNX has the gates in another order than PyTorch."""
        now, forget, cell, out = np.split(arrays[name], 4)
        return np.concatenate([now, out, forget, cell])[None]

    biases = np.concatenate([gates("lstm.bias_ih_l0"), gates("lstm.bias_hh_l0")], axis=1)
    weights = {"W": gates("lstm.weight_ih_l0"), "R": gates("lstm.weight_hh_l0"), "B": biases, "first": np.array([0])}
    nodes = [
        node("Transpose", ["z"], ["steps"], perm=[1, 0, 2]),
        node("LSTM", ["steps", "W", "R", "B"], ["", "memory"], hidden_size=weights["R"].shape[2]),
        node("Squeeze", ["memory", "first"], ["last"]),
        node("Concat", ["last", "x"], ["layer0"], axis=1),
    ]
    for number in range(1, 7):
        names = [f"dense{number}.{part}" for part in ("weight", "bias")]
        weights |= {name: arrays[name] for name in names}
        before, after = f"layer{number - 1}", "values" if number == 6 else f"sum{number}"
        nodes.append(node("Gemm", [before, *names], [after], transB=1))
        nodes += [node("Relu", [after], [f"layer{number}"])] if number < 6 else []
    columns = arrays["dense1.weight"].shape[1] - weights["R"].shape[2]
    info = onnx.helper.make_tensor_value_info
    inputs = [info("z", floats, ["moves", ROUNDS, ROUND_COLUMNS]), info("x", floats, ["moves", columns])]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = onnx.helper.make_graph(nodes, "douzero", inputs, [info("values", floats, ["moves", 1])], constants)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def exported(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same weights as ONNX files."""
    pytest.importorskip("onnxruntime")
    made = tmp_path_factory.mktemp("mirror")
    for name in NAMES:
        model = onnx_model(torch.load(folder / f"{name}.ckpt", weights_only=True))
        (made / f"{name}.onnx").write_bytes(model.SerializeToString())
    return made


def test_exported_files_play_as_the_checkpoints_do(exported: Path, agent: DouZeroAgent) -> None:
    """Without PyTorch's networks, in all roles and late in the game."""
    ours = make_agent(f"douzero:path={exported}")
    assert isinstance(ours, DouZeroAgent)
    assert set(digest_agent_files(f"douzero:path={exported}")) == {f"{name}.onnx" for name in NAMES}
    for seed in range(3):
        state, rng = State.new(seed, "douzero"), np.random.default_rng(seed)
        while not state.is_over:
            expected, values = agent.values(state.view()), ours.values(state.view())
            assert values == pytest.approx(expected, abs=NOISE)
            state.step(state.legal_moves()[int(rng.integers(len(expected)))])


def test_exported_files_of_another_role_or_form_are_refused(exported: Path, folder: Path, tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copy(exported / f"{name}.onnx", tmp_path)
    shutil.copy(exported / "landlord.onnx", tmp_path / "landlord_up.onnx")
    with pytest.raises(TensorFileMismatchError, match=r"landlord_up.onnx has the inputs .*373.*484"):
        DouZeroAgent(tmp_path)
    shutil.copy(policy_path("policy-raw"), tmp_path / "landlord_up.onnx")
    with pytest.raises(TensorFileMismatchError, match=r"landlord_up.onnx has the inputs .*action_mask"):
        DouZeroAgent(tmp_path)
    (tmp_path / "landlord_up.onnx").write_bytes(b"junk")
    with pytest.raises(TensorFileError, match=r"landlord_up.onnx is not an ONNX file"):
        DouZeroAgent(tmp_path)
    (tmp_path / "landlord_up.onnx").unlink()
    with pytest.raises(TensorFileError, match=r"landlord_up.ckpt: there is no such file"):
        DouZeroAgent(tmp_path)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert set(digest_agent_files(f"douzero:path={tmp_path}")) == {f"{name}.ckpt" for name in NAMES}


def test_by_name_with_the_digests_of_its_files(folder: Path) -> None:
    assert isinstance(make_agent(f"douzero:path={folder},threads=1"), DouZeroAgent)
    assert set(digest_agent_files(f"douzero:path={folder}")) == {f"{name}.ckpt" for name in NAMES}
    with pytest.raises(InvalidAgentOptionError, match="'path' has no default"):
        make_agent("douzero")


def test_without_torch_the_error_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddz_agents.external.douzero.network", None)
    with pytest.raises(MissingTorchError, match=r"\.\[train\]"):
        make_agent(f"douzero:path={folder}")
