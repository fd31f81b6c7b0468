"""The winning chances that people see beside the moves of a hint and beside every move of a saved game."""

from __future__ import annotations

import functools
from collections.abc import Container, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ddz_env import Move, Rules, View
from ddz_env.core.move_names import move_name
from ddz_env.core.view import AUCTION_STAGES
from ddz_env.playing.registry import LEVELS, expand_alias
from ddz_env.saved_games import PERSON
from ddz_play.session import Advice, RankedMove, Replay
from ddz_play.session.advice import EQUAL_WITHIN
from ddz_play.session.forced_wins import ForcedWins

if TYPE_CHECKING:
    from ddz_agents.bidding.policy import PayoffAgent
    from ddz_agents.neural.model import PolicyModel
    from ddz_agents.neural_search.win_probability import WinEstimate, WinProbability

_MAX_MOVES = 6
"""Moves that are judged: the adviser's own, what it has compared, and what the policy finds likely."""
_SEED = 20


class MoveReview(NamedTuple):
    """The review of a recorded move: the winning chance, the move's loss and a better move, as far as known.

    Attributes:
        number: How many moves came before it.
        seat: Who made it; None at the end of the game.
        role: What the seat was; None at the end.
        move: The move in the words of its rules; None at the end.
        landlord: The landlord's chance of winning before it, 0 to 1, by what the seat knew; None where it is unknown.
        loss: By how much the move was worse than the best one, in chances of its side; 0 where it was as good, None
            where it is unknown, or where there was only one move.
        better: The best move in the words of its rules, where the one that was made lost something; else None.
        outcome: What the better move does for certain: ``goes out``, or ``wins`` whatever the others hold; else None.
        opponents: Against whom the chances hold (:func:`calibration_opponents`); None where there are none.
    """

    number: int
    seat: int | None
    role: str | None
    move: str | None
    landlord: float | None
    loss: float | None
    better: str | None = None
    outcome: str | None = None
    opponents: str | None = None


class ChanceEstimator:
    """An estimator of moves' winning chances, based on the shipped policy network and its critic.

    Several threads may ask at once; they are answered one after the other, since networks and judge have one memory.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    def add_chances(self, view: View, advice: Advice, *more: Move, players: Sequence[str] = ()) -> Advice:
        """Add winning chances to an agent's advice, or points if the decision is a bid, showing or doubling.

        A move that wins whatever the others hold comes first, then the adviser's in its own order, then what the policy
        likes; chances do not change this order.  Points are ranked by points.  The advice is left as it is where
        nothing is known: with open hands, or with fewer players.

        Args:
            view: What the seat that is advised knows.
            advice: What its adviser says.
            *more: Moves to compare besides.
            players: Who holds each seat, as far as that is known.
        """
        if is_decided_by_points(view):
            return self._rank_by_points(view, advice)
        if not chances_are_known(view):
            return advice
        known = {option.move: option for option in advice.options if option.move is not None}
        likely, plans = self._likely_moves(view), find_forced_wins(view)
        certain = min(plans, key=lambda move: (move != advice.move, len(plans[move])), default=advice.move)
        moves = list(dict.fromkeys((certain, advice.move, *more, *known, *likely)))[:_MAX_MOVES]
        options, opponents = [], calibration_opponents(players, view.seat)
        for move, estimate in zip(moves, self.estimate_moves(view, moves, plans, opponents), strict=True):
            option = known.get(move, RankedMove(move.main, move))
            line, prior = plans.get(move, option.line), likely.get(move)
            about = replace(option, score=None, prior=prior, line=line, certain=move in plans)
            options.append(replace(about, chance=estimate.chance, noise=estimate.noise))
        return replace(advice, move=certain, options=tuple(options), source="critic", opponents=opponents)

    def estimate_moves(
        self, view: View, moves: Sequence[Move], certain: Container[Move], opponents: str
    ) -> list[WinEstimate]:
        """Estimate the winning chance after each given move, 1 for a forced win; equal calls give equal estimates."""
        with self._lock:
            estimates = self._win_probability.estimate(view, moves, _make_generator(view), opponents)
        return [
            estimate._replace(chance=1.0) if move in certain else estimate
            for move, estimate in zip(moves, estimates, strict=True)
        ]

    def review(self, replay: Replay) -> MoveReview:
        """Review the next move of a replay, with its loss judged by what its seat knew; at the end, say who won.

        Agents' chances are those of strong players: if each had a level's, a curve would jump from seat to seat.
        """
        from ddz_agents.neural_search.win_probability import STRONG

        table, played = replay.seat_view(None).table, replay.game.moves[replay.number : replay.number + 1]
        if table.acting is None:
            end = None if table.winner is None else float(table.winner == table.landlord)
            return MoveReview(replay.number, None, None, None, end, None)
        view, seat = replay.view(replay.seat), replay.seat
        text = next((move_name(move, replay.question) for _, move in played), None)
        undecided = MoveReview(replay.number, seat, replay.role(seat), text, None, None)
        if not chances_are_known(view):
            return undecided
        plans = find_forced_wins(view)
        moves = list(dict.fromkeys((*(move for _, move in played), *plans, *self._likely_moves(view))))[:_MAX_MOVES]
        opponents = calibration_opponents(replay.game.players, seat) if replay.game.players[seat] == PERSON else STRONG
        estimates = self.estimate_moves(view, moves, plans, opponents)
        best = max(range(len(moves)), key=lambda place: estimates[place].chance)
        loss = estimates[best].chance - estimates[0].chance
        if loss < max(EQUAL_WITHIN, estimates[0].noise):
            best, loss = 0, 0.0
        chance = estimates[best].chance
        landlord = chance if seat == view.landlord else 1 - chance
        found = undecided._replace(landlord=round(landlord, 4), opponents=opponents)
        if not played or len(view.legal_moves()) == 1:
            return found
        if not best:
            return found._replace(loss=0.0)
        outcome = None if moves[best] not in plans else "goes out" if moves[best].cards == view.hand else "wins"
        return found._replace(loss=round(loss, 4), better=move_name(moves[best], replay.question), outcome=outcome)

    def _rank_by_points(self, view: View, advice: Advice) -> Advice:
        """Rank bids and other answers by their mean points in simulated deals that are played out.

        To decline before the first bid is worth nothing by definition: it has no points.
        """
        with self._lock:
            appraisals = sorted(
                self._payoff.appraise(view, _make_generator(view)), key=lambda appraisal: -appraisal.payoff
            )
        options = [
            RankedMove(appraisal.move.main, appraisal.move, score=appraisal.payoff + 0.0 if appraisal.chip else None)
            for appraisal in appraisals
        ]
        return replace(advice, move=appraisals[0].move, options=tuple(options), source="payoff")

    def _likely_moves(self, view: View) -> dict[Move, float]:
        """Return the policy's most probable moves with their probabilities, most probable first."""
        from ddz_agents.neural_search.win_probability import likely_moves

        with self._lock:
            return {line.move: float(np.exp(line.log_prior)) for line in likely_moves(self._model, view, _MAX_MOVES)}

    @functools.cached_property
    def _model(self) -> PolicyModel:
        from ddz_agents.neural.loading import load_policy

        return load_policy()

    @functools.cached_property
    def _payoff(self) -> PayoffAgent:
        from ddz_agents.bidding.policy import PayoffAgent

        return PayoffAgent(gain="points")

    @functools.cached_property
    def _win_probability(self) -> WinProbability:
        from ddz_agents.neural_search.win_probability import WinProbability

        return WinProbability(self._model)


def calibration_opponents(players: Sequence[str], seat: int) -> str:
    """Choose the calibration for a seat's chances: the level of both other seats, or ``policy`` (strong players).

    Args:
        players: Who holds each seat; empty where that is not known.
        seat: Whose chances.
    """
    from ddz_agents.neural_search.win_probability import CALIBRATIONS, STRONG

    levels = {expand_alias(level.name): level.name for level in LEVELS}
    others = {levels.get(expand_alias(name), STRONG) for place, name in enumerate(players) if place != seat}
    [level] = others if len(others) == 1 else [STRONG]
    return level if level in CALIBRATIONS else STRONG


def chances_are_known(view: View) -> bool:
    """Return whether winning chances can be estimated: in three-player card play with hidden hands."""
    return view.rules.players == 3 and not view.rules.open_hands and view.landlord is not None and view.stage == "play"


def is_decided_by_points(view: View) -> bool:
    """Check whether a decision is valued in points: a bid, or an answer to showing or doubling."""
    return view.stage in AUCTION_STAGES and auction_changes_points(view.rules)


def auction_changes_points(rules: Rules) -> bool:
    """Return whether the rules have 3 players and points that depend on bids, showing or doubling."""
    return rules.scoring != "win" and rules.players == 3 and not rules.half_deck


def _make_generator(view: View) -> np.random.Generator:
    return np.random.default_rng([_SEED, view.seat, len(view.history)])


def find_forced_wins(view: View) -> dict[Move, tuple[Move, ...]]:
    """Find the moves that win whatever the others hold, each with the seat's own moves that follow."""
    wins = ForcedWins(view)
    plans = ((move, wins.winning_line_after(move)) for move in view.legal_moves())
    return {move: plan for move, plan in plans if plan is not None}
