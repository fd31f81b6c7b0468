"""Each move's estimated chance of winning, for display: a calibrated mean of the critic over sampled games.

A person wants to know of every move how often it wins, also of one that a search never tried or that an agent played
without thinking.  So each move is played in the same worlds, which are weighed by what the hidden seats have played,
and the critic says what each is worth.  The mean depends on nothing that the seat does not know.

The mean is too high: inference from few particles makes the others' hands weaker than they are, and most so for
peasants.  It knows only strong players, too.  How often games are really won where the mean is so high was counted in
games of the policy with itself (``ddz reproduce chances``) and of the policy at a table of each level (``ddz reproduce
table-chances``), role by role.

Among opponents that are the rule agent, the best move is played out besides, in the same worlds: how good the position
is, the share of worlds that are won says better.  By how much other moves are worse, the critic says: it is steadier.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.belief.model import load_belief
from ddz_agents.neural.agent import PartialMove, encode_next_stages
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import PolicyModel
from ddz_agents.neural_search.beliefs import Beliefs
from ddz_agents.neural_search.leaf_games import LeafGames, new_games, play_forced
from ddz_agents.neural_search.model_cache import CachedModel
from ddz_agents.neural_search.playouts import play_out_against_rules
from ddz_agents.neural_search.values import evaluate_with_critic, values_for_seats
from ddz_agents.rules.agent import weights_without_rule
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.search_agent import check_view
from ddz_agents.worlds.determinize import Reals, Words
from ddz_agents.worlds.inference import draw_hands
from ddz_agents.worlds.particles import distinct_deals, effective_size
from ddz_env import Move, View
from ddz_env.core.actions import MAX_KICKERS
from ddz_env.core.engine.layout import HANDS, HIDDEN, SIZES
from ddz_env.core.engine.step import apply_and_record
from ddz_env.support.compiling import kernel
from ddz_env.support.errors import IllegalMoveError, InvalidAgentOptionError

WORLDS = 256
"""Particles: worlds in which a move is played, as far as they differ."""
_MOST = 8.0
"""Log odds beyond which the critic is as good as certain."""
ERRORS = 2.0
"""Standard errors by which two moves differ if that is to be no accident of the worlds."""
_LIKELIEST = 0.99
"""The highest chance of a move, and the lowest of the other side's: worlds prove nothing."""


class WinEstimate(NamedTuple):
    """A move's chance of winning, and how far sampling noise alone could put the best move ahead of it.

    Attributes:
        chance: The chance of winning after it, 0 to 1.
        noise: How much better the best of the compared moves may look by accident of the worlds.
    """

    chance: float
    noise: float


class LogOddsCurve(NamedTuple):
    """A calibration curve from a move's mean value to its chance of winning (Platt 1999).

    With x the log odds of the mean, those of the chance are ``bias + slope * x``.

    Attributes:
        bias: What the mean leaves out.
        slope: How much of its confidence is borne out.
    """

    bias: float
    slope: float

    def chances(self, means: Reals) -> Reals:
        """Return the calibrated chances of winning for mean values from 0 to 1, leaving 0 and 1 unchanged."""
        chances = 1 / (1 + np.exp(-self.bias - self.slope * log_odds(means)))
        bounded: Reals = np.where((means <= 0) | (means >= 1), means, chances)
        return bounded


class Calibration(NamedTuple):
    """The calibration curves for one kind of opponent, one for each role.

    Attributes:
        landlord: For the landlord.
        peasant_down: For the peasant who plays after the landlord.
        peasant_up: For the peasant who plays before the landlord.
    """

    landlord: LogOddsCurve
    peasant_down: LogOddsCurve
    peasant_up: LogOddsCurve


def log_odds(means: Reals) -> Reals:
    """Return the log odds of mean values from 0 to 1, clipped to a finite range."""
    with np.errstate(divide="ignore"):
        logs: Reals = np.clip(np.log(means) - np.log1p(-means), -_MOST, _MOST)
    return logs


STRONG = "policy"
"""The opponents where nothing else is known: players like the policy."""
CALIBRATIONS = {
    STRONG: Calibration(LogOddsCurve(-0.332, 1.126), LogOddsCurve(-0.41, 0.944), LogOddsCurve(-0.342, 0.973)),
    "easy": Calibration(LogOddsCurve(1.784, 0.685), LogOddsCurve(0.115, 0.559), LogOddsCurve(0.233, 0.691)),
    "medium": Calibration(LogOddsCurve(1.025, 0.546), LogOddsCurve(-0.472, 0.685), LogOddsCurve(-0.462, 0.686)),
    "hard": Calibration(LogOddsCurve(0.307, 0.839), LogOddsCurve(-0.651, 0.907), LogOddsCurve(-0.263, 0.958)),
}
"""Fitted to the games in ``docs/results/chances.csv`` and ``table_chances.csv``; tests repeat the fits."""


class RuleAgentOpponents(NamedTuple):
    """Rule agents as opponents: their weights, and the calibration of playouts against them.

    Attributes:
        weights: Its weights.
        calibration: The maps from the share of worlds that are won among them to chances.
    """

    weights: npt.NDArray[np.int64]
    calibration: Calibration


RULE_AGENTS = {
    "medium": RuleAgentOpponents(
        weights_without_rule("pass"),
        Calibration(LogOddsCurve(-0.182, 0.687), LogOddsCurve(-0.464, 0.595), LogOddsCurve(-0.396, 0.648)),
    ),
    "hard": RuleAgentOpponents(
        WEIGHTS,
        Calibration(LogOddsCurve(-0.485, 0.905), LogOddsCurve(-0.618, 0.776), LogOddsCurve(-0.505, 0.997)),
    ),
}
"""Fitted to the games in ``docs/results/table_chances.csv``, too."""


@kernel
def _play_moves(ring: np.ndarray, rules: np.ndarray, moves: np.ndarray, worlds: np.ndarray, games: LeafGames) -> None:
    """Write the game that results from each given move in each determinization.

    Args:
        ring: The moves before, shape ``[16, 2]``, uint64.
        rules: The rules array.
        moves: The stages of each, shape ``[moves, 1 + MAX_KICKERS]``, int16, ``-1`` behind the last.
        worlds: Full rows, shape ``[worlds, 32]``, uint64.
        games: Output, move by move within world by world.
    """
    for world in range(worlds.shape[0]):
        for move in range(moves.shape[0]):
            index = world * moves.shape[0] + move
            games.rows[index] = worlds[world]
            games.rings[index] = ring
            for stage in range(moves.shape[1]):
                if moves[move, stage] >= 0:
                    apply_and_record(games.rows[index], games.rings[index], np.uint64(moves[move, stage]), rules)


def play_moves_in_worlds(view: View, moves: Sequence[Move], worlds: Words) -> LeafGames:
    """Return the games after each given move in each determinization, grouped by determinization.

    Args:
        view: What the seat to act knows.
        moves: Its moves.
        worlds: Full rows, shape ``[worlds, 32]``, uint64.
    """
    stages = np.full((len(moves), 1 + MAX_KICKERS), -1, np.int16)
    for number, move in enumerate(moves):
        stages[number, : len(move.actions)] = move.actions
    games = new_games(len(worlds) * len(moves))
    _play_moves(view.ring, view.rule_words, stages, worlds, games)
    return games


def role_number(view: View) -> int:
    """Return a seat's role: 0 for the landlord, 1 for the peasant after it, 2 for the peasant before it."""
    assert view.landlord is not None
    return (view.seat - view.landlord) % 3


class WinProbability:
    """An estimator of each move's chance of winning, from what the seat to act knows.

    Args:
        model: A policy with a critic that was trained to win.
        worlds: Particles of the worlds in which each move is played.

    Raises:
        InvalidAgentOptionError: If the model has no such critic.
    """

    def __init__(self, model: PolicyModel | None = None, worlds: int = WORLDS):
        self._model = load_policy() if model is None else model
        if self._model.leaf != "critic":
            raise InvalidAgentOptionError(
                "chances of winning need a policy with a critic, trained for objective='win', such as policy-v3"
            )
        self._worlds, self._cached = worlds, CachedModel(self._model)
        self._beliefs = Beliefs(self._cached, worlds, load_belief())

    def estimate(
        self, view: View, moves: Sequence[Move], rng: np.random.Generator, opponents: str = STRONG
    ) -> list[WinEstimate]:
        """Estimate the chance of winning after each given move, for the side of the seat to act.

        Args:
            view: What the seat to act knows, when the landlord is known.
            moves: Legal moves, in any order.
            rng: The only source of randomness.
            opponents: Who holds the other seats, of ``CALIBRATIONS``.

        Raises:
            IllegalMoveError: If it is not the seat's turn to play cards.
            InconsistentViewError: If the view contradicts itself.
        """
        rows, weights = self._checked_worlds(view, rng)
        values = self._ask_critic(view, moves, rows)
        means = np.clip(weights @ values, 0.0, 1.0)
        best, role = int(means.argmax()), role_number(view)
        curve = CALIBRATIONS[opponents][role]
        chances = curve.chances(means)
        leads = values[:, [best]] - values
        spreads = np.sqrt(weights @ (leads - weights @ leads) ** 2)
        errors = ERRORS * spreads / math.sqrt(effective_size(weights))
        noises = curve.chances(np.minimum(means + errors, 1.0)) - chances
        if (others := RULE_AGENTS.get(opponents)) is not None:
            share = self._playout_win_rate(view, moves[best], rows, weights, others)
            chances += others.calibration[role].chances(np.array(share)) - chances[best]
        shown = np.clip(chances, 1.0 - _LIKELIEST, _LIKELIEST)
        return list(map(WinEstimate, shown.tolist(), noises.tolist()))

    def critic_means(self, view: View, moves: Sequence[Move], rng: np.random.Generator) -> Reals:
        """Return each move's mean critic value over sampled games, uncalibrated, 0 to 1, shape ``[moves]``."""
        rows, weights = self._checked_worlds(view, rng)
        return np.clip(weights @ self._ask_critic(view, moves, rows), 0.0, 1.0)

    def playout_win_rate(self, view: View, move: Move, rng: np.random.Generator, others: RuleAgentOpponents) -> float:
        """Return the win rate, 0 to 1, of the policy against rule agents after a move, over sampled games.

        Arguments and errors are as of :meth:`estimate`.
        """
        return self._playout_win_rate(view, move, *self._checked_worlds(view, rng), others)

    def sample_worlds(self, view: View, rng: np.random.Generator) -> tuple[Words, Reals]:
        """Sample distinct full games consistent with a view, ``[n, 32]``, with their probabilities, ``[n]``.

        They come from the belief network, where it knows the rules, and are weighed by how plausible they make the
        moves of the hidden seats, as in the search; a position without a history has any deal as likely.
        """
        self._cached.forget()
        particles = self._beliefs.infer(view, rng)
        hands = draw_hands(view, rng, self._worlds) if particles is None else particles.hands
        weights = np.full(len(hands), 1 / len(hands)) if particles is None else particles.weights
        deals, deal = distinct_deals(hands)
        rows = np.tile(view.row, (len(deals), 1))
        rows[:, HANDS : HANDS + 3], rows[:, HIDDEN], rows[:, SIZES] = deals[:, :3], deals[:, 3], 0
        return rows, np.bincount(deal, weights).astype(np.float64)

    def _checked_worlds(self, view: View, rng: np.random.Generator) -> tuple[Words, Reals]:
        """Return the result of :meth:`sample_worlds`, after checking that the view's seat is to play cards."""
        if view.stage != "play":
            raise IllegalMoveError(f"no cards are played now: the stage is {view.stage}")
        if view.acting_seat != view.seat:
            raise IllegalMoveError(f"seat {view.seat} plays no cards now: it is seat {view.acting_seat}'s turn")
        check_view(view.row, view.seat, view.rule_words)
        return self.sample_worlds(view, rng)

    def _ask_critic(self, view: View, moves: Sequence[Move], worlds: Words) -> Reals:
        """Return the critic's value of each move in each determinization, 0 to 1, shape ``[worlds, moves]``."""
        games = play_moves_in_worlds(view, moves, worlds)
        play_forced(games, np.arange(len(games.waits)), view.rule_words)
        seats = np.full(len(games.waits), view.seat, np.uint64)
        values = values_for_seats(games, seats, partial(evaluate_with_critic, self._model))
        chances: Reals = (1.0 + np.clip(values, -1.0, 1.0).astype(np.float64)) / 2.0
        return chances.reshape(len(worlds), len(moves))

    def _playout_win_rate(
        self, view: View, move: Move, worlds: Words, weights: Reals, others: RuleAgentOpponents
    ) -> float:
        """Return the weighted win rate of :meth:`playout_win_rate` over given full games."""
        games = play_moves_in_worlds(view, [move], worlds)
        won = play_out_against_rules(self._model, games, view.seat, view.rule_words, others.weights)
        return min(float(weights @ won), 1.0)


def likely_moves(model: PolicyModel, view: View, most: int) -> list[PartialMove]:
    """Return a policy's most probable complete moves, found by beam search over main groups and kickers.

    Args:
        model: The policy.
        view: What the seat to act knows.
        most: How many.
    """
    lines = [PartialMove(view, view.row, view.ring)]
    while not all(line.is_whole for line in lines):
        begun = [line for line in lines if not line.is_whole]
        longer = [line for line in lines if line.is_whole]
        for line, logs in zip(begun, model.evaluate(*encode_next_stages(begun))[0], strict=True):
            likely = np.argsort(-logs, kind="stable")[:most].tolist()
            longer += [line.with_action(action, float(logs[action])) for action in likely if logs[action] > -np.inf]
        lines = sorted(longer, key=lambda line: -line.log_prior)[:most]
    return lines
