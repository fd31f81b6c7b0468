"""The chance of winning after a move, for people: the critic's mean over sampled worlds, made honest by a map.

A person wants to know of every move how often it wins, also of one that a search never tried or that an agent played
without thinking.  So each move is played in the same worlds, drawn uniformly from what the seat cannot see, and the
critic says what each is worth.  The mean depends on nothing that the seat does not know.  How often games are really
won where the mean is so high was counted in games of the policy against itself (``ddz reproduce chances``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.agent import PartialMove, next_stages
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural_search.descent import Descents, Searcher, describe_leaf, new_descents
from ddz_agents.neural_search.values import ask_critic, leaf_kind, values_for
from ddz_agents.worlds.determinize import Reals, check_view, draw_world
from ddz_env import Move, View
from ddz_env.core.actions import MAX_KICKERS
from ddz_env.core.engine.layout import ROW_WORDS, STAGE, STAGE_OVER
from ddz_env.core.engine.legal import count_legal, legal_mask, nth_legal
from ddz_env.core.engine.random import key
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.words import U0, U1
from ddz_env.support.compiling import kernel
from ddz_env.support.errors import IllegalMoveError, InvalidAgentOptionError

WORLDS = 64
"""Worlds in which a move is played."""
_MOST = 8.0
"""Log odds beyond which the critic is as good as certain."""
ERRORS = 2.0
"""Standard errors by which two moves differ if that is to be no accident of the worlds."""
_LIKELIEST = 0.99
"""The highest chance of a move that does not win by force, and the lowest of the other side's."""


class Judgement(NamedTuple):
    """What is known of a move.

    Attributes:
        chance: The chance of winning after it, 0 to 1.
        noise: How much better the best of the compared moves may look by accident of the worlds.
        forced: Whether it wins in every world without another decision.
    """

    chance: float
    noise: float
    forced: bool


class LogOddsCurve(NamedTuple):
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

    def chances(self, means: Reals) -> Reals:
        """The chances where the critic's means, 0 to 1, are these; what is certain stays certain."""
        chances = 1 / (1 + np.exp(-curve_inputs(means) @ np.array(self)))
        found: Reals = np.where((means <= 0) | (means >= 1), means, chances)
        return found


class Calibration(NamedTuple):
    """The curves of both sides.

    Attributes:
        peasants: For either peasant.
        landlord: For the landlord.
    """

    peasants: LogOddsCurve
    landlord: LogOddsCurve


def curve_inputs(means: Reals) -> Reals:
    """What a curve adds up, shape ``[n, 3]``."""
    with np.errstate(divide="ignore"):
        logs = np.clip(np.log(means) - np.log1p(-means), -_MOST, _MOST)
    return np.stack([np.ones(len(means)), logs, logs * np.abs(logs)], axis=1)


SHIPPED = Calibration(peasants=LogOddsCurve(0.086, 0.109, 0.066), landlord=LogOddsCurve(-0.595, 0.875, 0.049))
"""Fitted to the games of the shipped policy in ``docs/results/chances.csv``; a test repeats the fit."""


@kernel
def _begin(searcher: Searcher, moves: np.ndarray, deal: np.uint64, worlds: int, games: Descents) -> None:
    """Play every move in every world, and what needs no decision after it; describe the positions reached.

    Args:
        searcher: Whose chances they are.
        moves: The stages of each, shape ``[moves, 1 + MAX_KICKERS]``, int16, ``-1`` behind the last.
        deal: Seed of the sequence of worlds.
        worlds: How many.
        games: Output, move by move within world by world.
    """
    mask, drawn = np.empty(MASK_WORDS, np.uint64), np.empty(ROW_WORDS, np.uint64)
    for world in range(worlds):
        state = np.uint64(key(deal, np.uint64(world)))
        draw_world(searcher.row, searcher.seat, searcher.rules, searcher.pool, state, drawn)
        for move in range(moves.shape[0]):
            index = world * moves.shape[0] + move
            row, ring = games.rows[index], games.rings[index]
            row[:] = drawn
            ring[:] = searcher.ring
            for stage in range(moves.shape[1]):
                if moves[move, stage] >= 0:
                    apply_and_record(row, ring, np.uint64(moves[move, stage]), searcher.rules)
            # As skip_known, but without what opponents play whom it knows: that takes long to compile.
            games.waits[index] = False
            while row[STAGE] != STAGE_OVER and not games.waits[index]:
                legal_mask(row, searcher.rules, mask)
                if count_legal(mask) == U1:
                    apply_and_record(row, ring, nth_legal(mask, U0), searcher.rules)
                else:
                    games.waits[index] = True
                    describe_leaf(row, ring, searcher.rules, mask, games, index)


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
        if leaf_kind(self._model) != "critic":
            raise InvalidAgentOptionError("chances of winning need a policy with a critic, trained for objective='win'")
        self._calibration, self._worlds = calibration, worlds

    def judge(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> list[Judgement]:
        """What is known of each of some moves, for the side of the seat to act.

        Args:
            view: What the seat to act knows, when the landlord is known.
            moves: Legal moves, in any order.
            rng: The generator; it is drawn from once.

        Raises:
            IllegalMoveError: If it is not the seat's turn to play cards.
            InconsistentViewError: If the view contradicts itself.
        """
        values, open_ones = self._play(view, moves, rng)
        means = values.mean(axis=0)
        curve = self._calibration[view.landlord == view.seat]
        chances = curve.chances(means)
        leads = values[:, [int(means.argmax())]] - values
        errors = ERRORS * leads.std(axis=0) / math.sqrt(len(values))
        noises = curve.chances(np.minimum(means + errors, 1.0)) - chances
        forced = (values == 1.0).all(axis=0) & ~open_ones
        lost = (values == 0.0).all(axis=0) & ~open_ones
        shown = np.where(forced | lost, chances, np.clip(chances, 1.0 - _LIKELIEST, _LIKELIEST))
        return list(map(Judgement, shown.tolist(), noises.tolist(), forced.tolist()))

    def means(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> Reals:
        """The critic's means over the worlds, 0 to 1, shape ``[moves]``; arguments and errors as of :meth:`judge`."""
        return np.asarray(self._play(view, moves, rng)[0].mean(axis=0))

    def _play(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> tuple[Reals, npt.NDArray[np.bool_]]:
        """What each move is worth in each world, shape ``[worlds, moves]``, and which leave somebody a decision."""
        if view.landlord is None or view.acting_seat != view.seat or view.stage != "play":
            raise IllegalMoveError(f"seat {view.seat} plays no cards now: the stage is {view.stage}")
        check_view(view.row, view.seat, view.rule_words)
        searcher = Searcher.of(view)
        deal = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        stages = np.full((len(moves), 1 + MAX_KICKERS), -1, np.int16)
        for place, move in enumerate(moves):
            stages[place, : len(move.actions)] = move.actions
        games = new_descents(self._worlds * len(moves), 0)
        _begin(searcher, stages, deal, self._worlds, games)
        seats = np.full(len(games.waits), searcher.seat, np.uint64)
        open_ones = np.asarray(games.waits.reshape(self._worlds, len(moves)).any(axis=0))
        values = values_for(games, seats, partial(ask_critic, self._model))
        chances: Reals = (1.0 + np.clip(values, -1.0, 1.0).astype(np.float64)) / 2.0
        return chances.reshape(self._worlds, len(moves)), open_ones


def likely_moves(model: PolicyModel, view: View, most: int) -> list[PartialMove]:
    """The whole moves that a policy likes best, stage by stage (a beam search), the likeliest first.

    Args:
        model: The policy.
        view: What the seat to act knows.
        most: How many.
    """
    lines = [PartialMove(view, view.row, view.ring)]
    while not all(line.whole for line in lines):
        begun = [line for line in lines if not line.whole]
        found = [line for line in lines if line.whole]
        for line, logs in zip(begun, model.evaluate(*next_stages(begun))[0], strict=True):
            likely = np.argsort(-logs, kind="stable")[:most].tolist()
            found += [line.after(action, float(logs[action])) for action in likely if logs[action] > -np.inf]
        lines = sorted(found, key=lambda line: -line.log_prior)[:most]
    return lines
