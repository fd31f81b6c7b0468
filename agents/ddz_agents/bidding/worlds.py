"""Sampled deals of the hidden cards (worlds), played out to estimate the win rate of a hand.

Everything that a seat cannot see is dealt again, uniformly over deals of cards, and the cards are played by an agent
that sits on all three seats.  Before the auction has ended each world is played with every seat as the landlord: what
declining is worth depends on the others' chances, and the same worlds make the comparison less noisy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_env import Rules, State, View
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.score import SCORE_STAKE, write_returns
from ddz_env.core.engine.step import apply_action, make_landlord
from ddz_env.core.engine.tables import DOUBLE_ID
from ddz_env.core.engine.words import U0, U1, U24
from ddz_env.core.engine.worlds import determinize
from ddz_env.envs.side_by_side import play_games_together
from ddz_env.playing.agent import Agent
from ddz_env.playing.game import play_game
from ddz_env.playing.many import has_act_many, request_moves
from ddz_env.support.compiling import kernel, pure_kernel

_NO_SEAT = np.uint64(at.NO_SEAT)


class Outcomes(NamedTuple):
    """The results of the deals sampled for a view, played out with each possible landlord.

    Attributes:
        seat: The observer.
        landlord_won: 1 where the landlord won, shape ``[worlds, 3]``, float64; NaN in columns that were not played.
        returns: Each seat's return at a base stake of 1, bombs and spring counted, shape ``[worlds, 3, 3]``, float64,
            by world, landlord and seat; NaN likewise.
        rows: The worlds when the play begins, shape ``[worlds, 3, 32]``, uint64.
    """

    seat: int
    landlord_won: npt.NDArray[np.float64]
    returns: npt.NDArray[np.float64]
    rows: npt.NDArray[np.uint64]

    def wins(self, landlord: int) -> npt.NDArray[np.float64]:
        """Return which deals the observer's side wins with the given landlord, as 1 or 0, shape ``[worlds]``."""
        won = self.landlord_won[:, landlord]
        return won if landlord == self.seat else 1.0 - won

    def win_rate(self, landlord: int) -> float:
        """Return the observer's win rate if the given seat is the landlord."""
        return float(self.wins(landlord).mean())

    def gain(self, landlord: int) -> float:
        """Return the observer's mean return at base stake 1 with the given landlord, halved if that is itself."""
        return float(self.returns[:, landlord, self.seat].mean()) / (2.0 if landlord == self.seat else 1.0)


@pure_kernel
def apply_answer(row: np.ndarray, action: np.uint64, rules: np.ndarray) -> None:
    """Apply a bid or an answer to a game-state array, in one function that is compiled once for all callers."""
    apply_action(row, action, rules)


@kernel
def deal_worlds(view: np.ndarray, seat: int, rules: np.ndarray, seed: np.uint64, rows: np.ndarray) -> None:
    """Sample deals that fit a view, and advance each to the first lead once for every possible landlord.

    Args:
        view: The observer's row, before the first lead, shape ``[32]``, uint64.
        seat: The observer.
        rules: The rules array.
        seed: World ``i`` draws from stream ``i``.
        rows: Output, shape ``[worlds, 3, 32]``, uint64: by world and landlord; once there is a landlord, in its column
            alone.
    """
    world = np.empty(at.ROW_WORDS, np.uint64)
    for number in range(rows.shape[0]):
        determinize(view, np.uint64(seat), rules, stream_state(seed, np.uint64(number)), world)
        for landlord in range(3):
            if view[at.LANDLORD] != _NO_SEAT and view[at.LANDLORD] != np.uint64(landlord):
                continue
            row = rows[number, landlord]
            row[:] = world
            if view[at.LANDLORD] == _NO_SEAT:
                make_landlord(row, np.uint64(landlord), rules)
            while row[at.STAGE] == at.STAGE_SHOW or row[at.STAGE] == at.STAGE_DOUBLE:
                apply_answer(row, np.uint64(DOUBLE_ID), rules)
            row[at.BIDS] &= U1 << U24  # a shown hand stays shown
            row[at.DOUBLES] = row[at.MOVES] = U0


@kernel
def _count_results(rows: np.ndarray, rules: np.ndarray, landlord_won: np.ndarray, returns: np.ndarray) -> None:
    """Write whether the landlord won each finished game, and each seat's return at a base stake of 1."""
    for index in range(rows.shape[0]):
        row = rows[index]
        row[at.BIDS] = U0
        write_returns(row, rules, SCORE_STAKE, 0.5, returns[index])
        landlord_won[index] = 1.0 if row[at.WINNER] == row[at.LANDLORD] + U1 else 0.0


def play_out(rows: npt.NDArray[np.uint64], rules: Rules, agent: Agent, rng: np.random.Generator) -> None:
    """Play games to the end with the same agent in every seat.

    Args:
        rows: Games at the first lead, shape ``[n, 32]``, uint64, changed in place.
        rules: The rules.
        agent: The agent; one with ``act_many`` plays all games at once.
        rng: Its generator.
    """
    if not has_act_many(agent):
        for row in rows:
            row[:] = play_game(State(row.copy(), rules), [agent] * rules.players, [rng] * rules.players).row
        return
    seats = np.zeros((len(rows), rules.players), np.int64)
    play_games_together(rows, rules, seats, lambda _, waiting: request_moves(agent, waiting), lambda game, seat: rng)


def simulate_outcomes(view: View, rng: np.random.Generator, worlds: int, agent: Agent) -> Outcomes:
    """Sample deals that fit a seat's view, play them out with one agent in all seats, and return the results.

    Args:
        view: In the auction, at showing or doubling, or at the first lead; it need not be the seat's turn.
        rng: Deals the worlds.
        worlds: How many.
        agent: Plays the cards on all seats.
    """
    rows = np.zeros((worlds, 3, at.ROW_WORDS), np.uint64)
    seed = rng.integers(0, 2**64, dtype=np.uint64)
    deal_worlds(view.row, view.seat, view.rule_words, np.uint64(seed), rows)
    columns = list(range(3)) if view.landlord is None else [view.landlord]
    played = rows[:, columns].reshape(-1, at.ROW_WORDS)
    play_out(played, view.rules, agent, rng)
    won, points = np.empty(len(played)), np.empty((len(played), 3))
    _count_results(played, view.rule_words, won, points)
    landlord_won, returns = np.full((worlds, 3), np.nan), np.full((worlds, 3, 3), np.nan)
    landlord_won[:, columns] = won.reshape(worlds, len(columns))
    returns[:, columns] = points.reshape(worlds, len(columns), 3)
    return Outcomes(view.seat, landlord_won, returns, rows)
