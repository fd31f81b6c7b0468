"""The chance of winning after a move, for people: the critic's mean over sampled worlds, made honest by a map.

A person wants to know of every move how often it wins, also of one that a search never tried or that an agent played
without thinking.  So each move is played in the same worlds, drawn uniformly from what the seat cannot see, and the
critic says what each is worth.  The mean depends on nothing that the seat does not know.  How often games are really
won where the mean is so high was counted in games of the policy against itself (``ddz reproduce chances``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural_search.leaves import GameCritic, leaf_kind
from ddz_agents.tree_search.simulate import reward_of
from ddz_agents.worlds.consistency import check_view
from ddz_agents.worlds.determinize import determinize
from ddz_env import Move, View
from ddz_env.core.actions import MAX_KICKERS
from ddz_env.core.engine.compiling import inline_kernel, kernel
from ddz_env.core.engine.layout import HISTORY_MOVES, HISTORY_WORDS, ROW_WORDS, SEAT, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.random import key
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.core.errors import IllegalMoveError
from ddz_env.core.observation import (
    CONCEALED_WORDS,
    MASK_BYTE_WORDS,
    OBSERVATION_WORDS,
    mask_bytes,
    write_concealed,
    write_mask,
    write_observation,
)

WORLDS = 64
"""Worlds in which a move is played."""
_NONE = -1
"""Stands behind a move's last stage."""
_MOST = 8.0
"""Log odds beyond which the critic is as good as certain."""


class Curve(NamedTuple):
    """From the critic's mean to the chance of winning.

    With x the log odds of the mean, those of the chance are ``bias + slope * x + bend * x * |x|``.

    Attributes:
        bias: What the critic leaves out.
        slope: How much of its confidence is borne out.
        bend: How much more, the surer it is.
    """

    bias: float
    slope: float
    bend: float

    def chances(self, means: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The chances where the critic's means, 0 to 1, are these; what is certain stays certain."""
        chances = 1 / (1 + np.exp(-_inputs(means) @ np.array(self)))
        found: npt.NDArray[np.float64] = np.where((means <= 0) | (means >= 1), means, chances)
        return found


class Calibration(NamedTuple):
    """The curves of both sides.

    Attributes:
        peasants: For either peasant.
        landlord: For the landlord.
    """

    peasants: Curve
    landlord: Curve


def _inputs(means: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What a curve adds up, shape ``[n, 3]``."""
    with np.errstate(divide="ignore"):
        logs = np.clip(np.log(means) - np.log1p(-means), -_MOST, _MOST)
    return np.stack([np.ones(len(means)), logs, logs * np.abs(logs)], axis=1)


AS_TOLD = Calibration(Curve(0.0, 1.0, 0.0), Curve(0.0, 1.0, 0.0))
"""Leaves the critic's means alone."""
SHIPPED = Calibration(peasants=Curve(-0.067, 0.216, 0.058), landlord=Curve(-0.438, 0.812, 0.123))
"""Fitted to the games of the shipped policy in ``docs/results/chances.csv``; a test fits it anew."""


class _Games(NamedTuple):
    """Games in which the moves have been played, as the critic reads them.

    Attributes:
        results: 1 or 0 where the game is over and won or lost, -1 where it goes on, shape ``[n]``, float32.
        same_side: Whether the seat to act is on the side of the seat that asks, shape ``[n]``, bool.
        observations: What the seat to act sees, as words, shape ``[n, OBSERVATION_WORDS]``, uint64.
        masks: Its legal actions, as words, shape ``[n, MASK_BYTE_WORDS]``, uint64.
        concealed: What it does not see, as words, shape ``[n, CONCEALED_WORDS]``, uint64.
    """

    results: npt.NDArray[np.float32]
    same_side: npt.NDArray[np.bool_]
    observations: npt.NDArray[np.uint64]
    masks: npt.NDArray[np.uint64]
    concealed: npt.NDArray[np.uint64]


@inline_kernel
def _skip_forced(row: np.ndarray, ring: np.ndarray, rules: np.ndarray, mask: np.ndarray) -> None:
    """Play what is forced: the critic learned from decisions alone, and is wrong where there is none."""
    while row[STAGE] != STAGE_OVER:
        legal_mask(row, rules, mask)
        if count_legal(mask) != U1:
            return
        apply_and_record(row, ring, nth_legal(mask, U0), rules)


@kernel
def _play_moves(
    view: np.ndarray,
    ring: np.ndarray,
    seat: np.uint64,
    landlord: np.uint64,
    rules: np.ndarray,
    moves: np.ndarray,
    deal: np.uint64,
    games: _Games,
) -> None:
    """Play every move in every world, world by world.

    Args:
        view: The row of the seat that asks, shape ``[32]``, uint64.
        ring: The recent moves, shape ``[16, 2]``, uint64.
        seat: That seat.
        landlord: The landlord's seat.
        rules: The rules array.
        moves: The stages of each move, shape ``[moves, 1 + MAX_KICKERS]``, int16, ``-1`` behind the last.
        deal: Seed of the worlds.
        games: Output; where they stand at the next decision.  They are as many as worlds times moves.
    """
    mask, world = np.empty(MASK_WORDS, np.uint64), np.empty(ROW_WORDS, np.uint64)
    row, recent = np.empty(ROW_WORDS, np.uint64), np.empty((HISTORY_MOVES, HISTORY_WORDS), np.uint64)
    for index in range(games.results.size):
        number, move = divmod(index, moves.shape[0])
        if move == 0:
            determinize(view, seat, rules, np.uint64(key(deal, np.uint64(number))), world)
        row[:] = world
        recent[:] = ring
        for stage in range(moves.shape[1]):
            if moves[move, stage] >= 0:
                apply_and_record(row, recent, np.uint64(moves[move, stage]), rules)
        _skip_forced(row, recent, rules, mask)
        if row[STAGE] == STAGE_OVER:
            games.results[index] = reward_of(row, seat)
            continue
        games.results[index] = np.float32(-1.0)
        games.same_side[index] = (row[SEAT] == landlord) == (seat == landlord)
        write_observation(row, recent, rules, row[SEAT], games.observations[index])
        write_mask(row, rules, mask, games.masks[index])
        write_concealed(row, rules, row[SEAT], games.concealed[index])


class Judge:
    """Says how likely moves win, from what their seat knows.

    Args:
        model: A policy with a critic that was trained to win.
        calibration: The map from its means to chances.
        worlds: Worlds in which each move is played.

    Raises:
        InvalidAgentOptionError: If the model has no such critic.
    """

    def __init__(self, model: PolicyModel | None = None, calibration: Calibration = SHIPPED, worlds: int = WORLDS):
        self._model = load_policy() if model is None else model
        leaf_kind(self._model, "critic")
        self._calibration, self._worlds = calibration, worlds

    def chances(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> list[float]:
        """The chance of winning after each of some moves, for the side of the seat to act.

        Args:
            view: What the seat to act knows, when the landlord is known.
            moves: Legal moves, in any order.
            rng: The generator; it is drawn from once.

        Raises:
            IllegalMoveError: If it is not the seat's turn to play cards.
            InconsistentViewError: If the view contradicts itself.
        """
        means = self.means(view, moves, rng)
        found: list[float] = self._calibration[view.landlord == view.seat].chances(means).tolist()
        return found

    def means(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """The critic's means over the worlds, 0 to 1, shape ``[moves]``; as :meth:`chances` without the map."""
        if view.landlord is None or view.acting_seat != view.seat or view.stage != "play":
            raise IllegalMoveError(f"seat {view.seat} plays no cards now: the stage is {view.stage}")
        check_view(view.row, view.seat, view.rule_words)
        stages = np.full((len(moves), 1 + MAX_KICKERS), _NONE, np.int16)
        for place, move in enumerate(moves):
            stages[place, : len(move.actions)] = move.actions
        deal = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        games = _new_games(len(moves) * self._worlds)
        seats = np.uint64(view.seat), np.uint64(view.landlord)
        _play_moves(view.row, view.ring, *seats, view.rule_words, stages, deal, games)
        return self._values(games).reshape(self._worlds, len(moves)).mean(axis=0)

    def _values(self, games: _Games) -> npt.NDArray[np.float64]:
        """What each game is worth to the side that asks, 0 to 1."""
        values = games.results.astype(np.float64)
        running = np.flatnonzero(values < 0)
        if len(running):
            assert isinstance(self._model, GameCritic)
            seen = games.observations[running].view(np.int8), mask_bytes(games.masks[running])
            found = self._model.value_of_games(*seen, games.concealed[running].view(np.int8)).astype(np.float64)
            found = np.where(games.same_side[running], found, -found)
            values[running] = (1 + np.clip(found, -1, 1)) / 2
        return values


def _new_games(count: int) -> _Games:
    return _Games(
        np.empty(count, np.float32),
        np.zeros(count, np.bool_),
        np.zeros((count, OBSERVATION_WORDS), np.uint64),
        np.zeros((count, MASK_BYTE_WORDS), np.uint64),
        np.zeros((count, CONCEALED_WORDS), np.uint64),
    )


def fitted(means: npt.NDArray[np.float64], won: npt.NDArray[np.bool_]) -> Curve:
    """The curve under which the games that were won are likeliest (Newton's method for a logistic regression).

    Args:
        means: The critic's, shape ``[n]``.
        won: Whether the game was won, shape ``[n]``.
    """
    open_ones = (means > 0) & (means < 1)
    inputs, wins, weights = _inputs(means[open_ones]), won[open_ones].astype(np.float64), np.zeros(3)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs
        weights += np.linalg.solve(curvature, inputs.T @ (wins - chances))
    return Curve(*(round(float(weight), _DIGITS) for weight in weights))


_STEPS, _DIGITS = 25, 3
"""Of Newton's method, and of what it has found."""
