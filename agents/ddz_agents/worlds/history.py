"""A view's public history, replayed in determinizations to find how likely they make its moves.

A particle says who holds what *now*.  Everything that was played is public, so the hands at any earlier moment are the
particle's hands and the cards played since: the kernels replay the history from its first lead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ddz_agents.worlds.determinize import Reals, Words
from ddz_env import View
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.score import is_hand_shown
from ddz_env.core.engine.step import apply_and_record, play_move
from ddz_env.core.engine.tables import BID_ID
from ddz_env.core.engine.words import add_hand
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules
from ddz_env.support.compiling import inline_kernel, kernel
from ddz_env.support.errors import DouDizhuError, InconsistentViewError, short_repr

S_SEAT, S_MAIN, S_KICKERS = 0, 1, 2
_PLAYED = slice(at.PLAYED, at.PLAYED + 3)
_PUBLIC = [at.SEAT, at.TARGET, at.KEY, at.OWNER, at.PASSES, at.BOMBS, at.PLAYS, at.MOVES, at.KNOWN]
"""The words in which a replay must agree with the view."""


class InvalidInferenceOptionError(DouDizhuError):
    """Raised when a hand inference option is out of range or a player model gives an invalid result."""


class InconsistentHistoryError(InconsistentViewError):
    """Raised when a view's history is missing or does not lead to the position on the table."""


class PublicHistory(NamedTuple):
    """The moves of a deal so far, without any hidden cards.

    Attributes:
        moves: Seat, main group and kickers (as a hand) of every play decision, oldest first; shape ``[moves, 3]``,
            uint64.
        start: The row before the first of them, hands empty; shape ``[32]``, uint64.
        played: What each seat has played, shape ``[3]``, uint64.
        ring: The bids and answers before the first card play, as observations show them, shape ``[16, 2]``, uint64.
    """

    moves: Words
    start: Words
    played: Words
    ring: Words


def check_history(view: View) -> None:
    """Check that a view's history accounts for all cards played.

    Raises:
        InconsistentHistoryError: If it does not.
    """
    for seat in range(view.rules.players):
        moves = [move.cards.counts for mover, move in view.history if mover == seat]
        counted = tuple(map(sum, zip(*moves, strict=True))) or (0,) * NUM_RANKS
        if counted != view.played(seat).counts:
            raise InconsistentHistoryError(
                f"the history of {len(view.history)} moves does not account for the cards that seat {seat} has played "
                f"({view.played(seat)}); inference needs every move of the deal"
            )


def read_public_history(view: View) -> PublicHistory:
    """Return the card plays in a view's history, ready for replay from the first lead, after all bids and answers.

    Raises:
        InconsistentHistoryError: If the history does not account for the cards played.
    """
    plays = [(seat, move) for seat, move in view.history if move.main < BID_ID]
    answers = [(seat, move) for seat, move in view.history if move.main >= BID_ID]
    moves = np.zeros((len(plays), 3), np.uint64)
    for index, (seat, move) in enumerate(plays):
        moves[index] = seat, *move.words
    check_history(view)
    row = view.row
    start = np.zeros(at.ROW_WORDS, np.uint64)
    for word in (at.BOTTOM, at.LANDLORD, at.BIDS, at.DOUBLES, at.LEFT_OUT):
        start[word] = row[word]
    start[at.KNOWN] = row[at.BOTTOM]
    if is_hand_shown(row):
        start[at.KNOWN] = add_hand(row[at.KNOWN], row[at.PLAYED + int(row[at.LANDLORD])])
    start[at.SEAT] = start[at.OWNER] = moves[0, S_SEAT] if plays else row[at.SEAT]
    start[at.STAGE] = at.STAGE_PLAY
    start[at.MOVES] = len(answers)
    ring = np.zeros((at.HISTORY_MOVES, at.HISTORY_WORDS), np.uint64)
    for number, (seat, move) in enumerate(answers):
        ring[number % at.HISTORY_MOVES, 1] = move.main | seat << 16  # a bid has no cards
    return PublicHistory(moves, start, row[_PLAYED].copy(), ring)


@inline_kernel
def rewind(history: PublicHistory, hands: np.ndarray, row: np.ndarray) -> None:
    """Write the game as it was before the first card play, given one determinization's hands.

    Args:
        history: The public history.
        hands: The particle: the hands now and the undealt cards, shape ``[4]``.
        row: Output, shape ``[32]``.
    """
    for word in range(at.ROW_WORDS):
        row[word] = history.start[word]
    for seat in range(3):
        row[at.HANDS + seat] = add_hand(hands[seat], history.played[seat])
    row[at.HIDDEN] = hands[3]


@kernel
def rewind_all(history: PublicHistory, hands: np.ndarray) -> np.ndarray:
    """Return every determinization's game as it was before the first card play, shape ``[n, 32]``."""
    rows = np.empty((hands.shape[0], at.ROW_WORDS), np.uint64)
    for index in range(hands.shape[0]):
        rewind(history, hands[index], rows[index])
    return rows


@kernel
def play_move_in_all_worlds(rows: np.ndarray, main: np.uint64, kickers: np.uint64, rules: np.ndarray) -> None:
    """Play one complete move in each of several determinizations, in place."""
    for index in range(rows.shape[0]):
        play_move(rows[index], main, kickers, rules)


@kernel
def _replay(history: PublicHistory, hands: np.ndarray, rules: np.ndarray, row: np.ndarray) -> int:
    """Replay a history in one determinization, and return the index of the first impossible move, or -1."""
    rewind(history, hands, row)
    for index in range(history.moves.shape[0]):
        move = history.moves[index]
        if row[at.SEAT] != move[S_SEAT] or row[at.STAGE] == np.uint64(at.STAGE_OVER):
            return index
        if move[S_MAIN] == np.uint64(0) and row[at.TARGET] == np.uint64(0):
            return index
        play_move(row, move[S_MAIN], move[S_KICKERS], rules)
    return -1


def check_replay(history: PublicHistory, view: View, hands: Words) -> None:
    """Check that a history leads to the position on the table.

    Args:
        history: The view's history.
        view: The view.
        hands: Any particle of it, shape ``[4]``.

    Raises:
        InconsistentHistoryError: If it does not.
    """
    if int(view.row[at.STAGE]) in (at.STAGE_BID, at.STAGE_DOUBLE, at.STAGE_SHOW):
        return
    row = np.empty(at.ROW_WORDS, np.uint64)
    wrong = int(_replay(history, hands, view.rule_words, row))
    if wrong >= 0:
        seat, main = int(history.moves[wrong, S_SEAT]), int(history.moves[wrong, S_MAIN])
        raise InconsistentHistoryError(
            f"play decision {wrong} of the history (seat {seat}, action {main}) cannot have happened there"
        )
    if (row[_PUBLIC] != view.row[_PUBLIC]).any() or (row[_PLAYED] != view.row[_PLAYED]).any():
        raise InconsistentHistoryError("the history leads to another position than the one on the table")


class PlayerModel(Protocol):
    """A model of how a seat plays, from which hand inference takes the likelihoods of past moves."""

    def log_likelihood(self, rows: Words, rules: Rules, seat: int, move: Move, ring: Words) -> Reals:
        """Return the log-probability of a move in each of several positions.

        Args:
            rows: Full rows, shape ``[n, 32]``, uint64, equal in everything public; not to be changed.  A model of an
                honest player reads nothing that the seat cannot see.
            rules: The rules.
            seat: The seat to act in all of them.
            move: What it played.
            ring: The moves before it, as observations show them, shape ``[16, 2]``, uint64; not to be changed.

        Returns:
            Shape ``[n]``, float64, finite: a particle that is struck out never comes back, even if the model was wrong.
        """
        ...


def history_log_likelihoods(
    models: Sequence[PlayerModel], history: PublicHistory, hands: Words, weighed: npt.NDArray[np.bool_], rules: Rules
) -> Reals:
    """Compute the log-likelihoods of each seat's ``weighed`` decisions under each model, in all determinizations.

    Args:
        models: The models.
        history: The public history.
        hands: The particles, shape ``[n, 4]``, uint64.
        weighed: Which decisions of the history are weighed, shape ``[moves]``.
        rules: The rules.

    Returns:
        The sums of the log-likelihoods of each seat's decisions, shape ``[n, models, 3]``, float64.

    Raises:
        InvalidInferenceOptionError: If a model answers with another shape or with something that is not finite.
    """
    logs = np.zeros((len(hands), len(models), 3))
    if not weighed.any():
        return logs
    words = rules.words()
    rows = rewind_all(history, hands)
    ring = history.ring.copy()
    for index in range(int(np.flatnonzero(weighed)[-1]) + 1):
        seat, main, kickers = history.moves[index]
        move = Move.from_words(int(main), int(kickers))
        for number, model in enumerate(models if weighed[index] else ()):
            answer = np.asarray(model.log_likelihood(rows, rules, int(seat), move, ring), np.float64)
            if answer.shape != (len(hands),) or not np.isfinite(answer).all():
                raise InvalidInferenceOptionError(
                    f"{model!r} must answer with {len(hands)} finite log-probabilities for {move} of seat {seat}, "
                    f"not with {short_repr(answer)}"
                )
            logs[:, number, int(seat)] += answer
        _record_move(ring, rows[0], move, words)
        play_move_in_all_worlds(rows, main, kickers, words)
    return logs


def _record_move(ring: Words, row: Words, move: Move, rules: Words) -> None:
    """Append a public move to the array of recent moves, using the game of any one determinization."""
    game = row.copy()
    for action in move.actions:
        apply_and_record(game, ring, np.uint64(action), rules)
