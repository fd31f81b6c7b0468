"""The agent ``douzero``, which values every legal move with DouZero's checkpoints and plays the best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ddz_agents.external.douzero import features
from ddz_agents.external.douzero.features import POSITIONS, Bytes, Floats
from ddz_agents.external.douzero.onnx_network import SUFFIX, load_onnx_networks
from ddz_agents.neural.errors import MissingTorchError, TensorFileError
from ddz_agents.rules.agent import RulesAgent
from ddz_env import Move, State, View
from ddz_env.core.engine.moves import list_all_moves
from ddz_env.core.observation import observe
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.agent import check_to_act
from ddz_env.playing.many import WaitingGames
from ddz_env.support.errors import InvalidRulesError, install_hint
from ddz_env.support.options import Options, Range, takes_options
from ddz_env.support.threads import MAX_THREADS, check_threads

_AT_ONCE = 64
"""Decisions whose moves are valued at once, for the sake of memory."""


@dataclass(frozen=True)
class DouZeroOptions(Options):
    """The options of ``douzero``: its folder of checkpoints, and how they are read.

    Attributes:
        path: The folder with `landlord.ckpt`, `landlord_up.ckpt` and `landlord_down.ckpt`, with the same as `.onnx`
            files, or with those that a training wrote (`landlord_weights_1000.ckpt` ...), of which the newest counts;
            or its `model.tar`.
        threads: Threads of every evaluation, for the whole process; none for one per core.
    """

    path: str | Path
    _: KW_ONLY
    threads: Annotated[int, Range(1, MAX_THREADS)] | None = 1

    def checkpoints(self) -> dict[str, Path]:
        """Return the checkpoint file of each role, keyed by DouZero's role names."""
        path = Path(self.path)
        whole = path.is_file()
        return {role.name: path if whole else _newest_checkpoint(path, role.name) for role in POSITIONS}

    def files(self) -> tuple[Path, ...]:
        """Return the checkpoint files of the three roles, without duplicates."""
        return tuple(dict.fromkeys(self.checkpoints().values()))


def _newest_checkpoint(folder: Path, role: str) -> Path:
    """Find a role's checkpoint in a folder, choosing the one trained on the most frames."""
    named, exported = folder / f"{role}.ckpt", folder / f"{role}{SUFFIX}"
    if exported.exists() and not named.exists():
        return exported
    written = [] if named.exists() else list(folder.glob(f"{role}_weights_*.ckpt"))
    frames = {path: path.stem.rpartition("_")[2] for path in written}
    numbered = [path for path in written if frames[path].isdecimal()]
    return max(numbered, key=lambda path: int(frames[path]), default=named)


class Network(Protocol):
    """A network that values the legal moves of one role."""

    def values(self, history: Floats, state: Floats, moves: Floats, owners: npt.NDArray[np.intp]) -> Floats:
        """Compute the values of candidate moves (see ``PositionNetwork.forward`` for the arguments)."""
        ...


def _load_networks(options: DouZeroOptions) -> tuple[Network, ...]:
    """Load the networks of the three roles, from checkpoints or ONNX files, in the order of :data:`POSITIONS`."""
    files, threads = options.checkpoints(), check_threads(options.threads)
    if any(path.suffix == SUFFIX for path in files.values()):
        exported = load_onnx_networks(files, threads)
        return tuple(exported[position.name] for position in POSITIONS)
    try:
        import torch

        from ddz_agents.external.douzero.network import load_networks
    except ImportError as error:
        raise MissingTorchError(f"DouZero's checkpoints need PyTorch ({error}): {install_hint('train')}") from error
    networks = load_networks(files)
    torch.set_num_threads(threads)
    return tuple(networks[position.name] for position in POSITIONS)


class Candidates(NamedTuple):
    """The legal moves of one decision as two arrays: main-group action ids and kickers.

    Attributes:
        mains: Action ids of the main groups, shape ``[m]``, uint64.
        kickers: The kickers as hands of the engine, shape ``[m]``, uint64.
    """

    mains: npt.NDArray[np.uint64]
    kickers: npt.NDArray[np.uint64]

    def move(self, index: int) -> Move:
        """Return the legal move with the given index."""
        return Move.from_words(int(self.mains[index]), int(self.kickers[index]))


class DouZeroAgent:
    """Plays with DouZero's networks, loaded from checkpoints: ``douzero:path=FOLDER``.

    It takes the move of the highest value; of moves with exactly the same value, the first in the engine's order.  The
    bids and the answers to doubling are those of ``rules``, because DouZero has none.  Moves that DouZero's rules do
    not have are valued by their cards, as all others.

    Raises:
        MissingTorchError: If PyTorch is not installed, which checkpoints need.
        MissingOnnxError: If ONNX Runtime is not installed, which ONNX files need.
        TensorFileError: If a file is missing, damaged, of another shape, or not finite.
        InvalidAgentOptionError: If an option's value is not allowed.
    """

    name = "douzero"

    @takes_options(DouZeroOptions)
    def __init__(self, options: DouZeroOptions) -> None:
        self._networks = _load_networks(options)
        self._auction = RulesAgent()
        state = State.new(0, "douzero")
        for _ in POSITIONS:  # large weights may be finite, and their sums not
            if not np.isfinite(list(self.values(state.view()).values())).all():
                raise TensorFileError(
                    f"{options.path} computes values of moves that are not finite: its weights are damaged"
                )
            state.step(state.legal_moves()[0])

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose the card move with the highest network value; bid and double as the agent ``rules`` does.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
            InvalidRulesError: If the rules are not for three players.
        """
        return self._choose_moves([view], rng)[0]

    def act_many(self, waiting: WaitingGames) -> npt.NDArray[np.uint64]:
        """Choose a move in each of several games, valuing all candidates of a role in one batch.

        Raises:
            InvalidRulesError: If the rules are not for three players.
        """
        moves = self._choose_moves([waiting.view(index) for index in range(len(waiting.rows))], waiting.rng(0))
        return np.array([move.words for move in moves], np.uint64).reshape(-1, 2)

    def _choose_moves(self, views: Sequence[View], rng: np.random.Generator) -> list[Move]:
        chosen = iter(
            self._best_moves([_observe_with_moves(view) for view in views if view.stage not in AUCTION_STAGES])
        )
        return [self._auction.act(view, rng) if view.stage in AUCTION_STAGES else next(chosen) for view in views]

    def values(self, view: View) -> dict[Move, float]:
        """Return the value of each legal move, in wins or points depending on how the networks were trained.

        Raises:
            IllegalMoveError: If the seat has no move of cards to choose.
            InvalidRulesError: If the rules are not for three players.
        """
        observation, candidates = _observe_with_moves(view)
        values = self.evaluate(observation[None], [candidates])[0]
        return {candidates.move(index): float(value) for index, value in enumerate(values)}

    def evaluate(self, observations: Bytes, candidates: Sequence[Candidates]) -> list[Floats]:
        """Compute the values of the legal moves in several decisions, with the network of each decision's role.

        Args:
            observations: What the seats to act see, shape ``[n, OBSERVATION_SIZE]``, int8.
            candidates: The legal moves of each.

        Returns:
            For each decision the values of its moves, float32.
        """
        values: list[Floats] = [np.empty(0, np.float32)] * len(candidates)
        roles = features.find_roles(observations)
        for role in np.unique(roles).tolist():
            own_rows = np.flatnonzero(roles == role).tolist()
            for first in range(0, len(own_rows), _AT_ONCE):
                rows = own_rows[first : first + _AT_ONCE]
                by_row = self._role_values(role, observations[rows], [candidates[row] for row in rows])
                for row, row_values in zip(rows, by_row, strict=True):
                    values[row] = row_values
        return values

    def _role_values(self, role: int, observations: Bytes, candidates: Sequence[Candidates]) -> list[Floats]:
        """Compute the values of the legal moves in several decisions of one role, in one batch."""
        sizes = [len(legal.mains) for legal in candidates]
        moves = features.move_columns(*map(np.concatenate, zip(*candidates, strict=True)))
        columns = features.history_columns(observations), features.state_columns(observations, POSITIONS[role]), moves
        owners = np.repeat(np.arange(len(sizes)), sizes)
        return np.split(self._networks[role].values(*columns, owners), np.cumsum(sizes)[:-1])

    def _best_moves(self, decisions: Sequence[tuple[Bytes, Candidates]]) -> list[Move]:
        """Choose the best move of each decision, skipping the evaluation where only one move is legal."""
        undecided = [number for number, (_, legal) in enumerate(decisions) if len(legal.mains) > 1]
        best = dict.fromkeys(range(len(decisions)), 0)
        if undecided:
            observations = np.stack([decisions[number][0] for number in undecided])
            values = self.evaluate(observations, [decisions[number][1] for number in undecided])
            best |= {number: int(row_values.argmax()) for number, row_values in zip(undecided, values, strict=True)}
        return [legal.move(best[number]) for number, (_, legal) in enumerate(decisions)]


def _observe_with_moves(view: View) -> tuple[Bytes, Candidates]:
    """Return the observation of the seat to act and its legal moves."""
    if view.rules.players != 3:
        raise InvalidRulesError(f"douzero plays games of three, not the {view.rules.name} rules")
    check_to_act(view, "kicker", *AUCTION_STAGES)
    return observe(view), Candidates(*list_all_moves(view.row, view.rule_words))
