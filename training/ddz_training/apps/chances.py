"""Chances of winning for people: for a hint's move and others, from one source, and for every move of a saved game."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ddz_env import Move, Rules, View
from ddz_env.core.spoken import worded
from ddz_env.core.view import AUCTION
from ddz_env.table.session import Advice, RankedMove, Replay

if TYPE_CHECKING:
    from ddz_agents.bidding.policy import PayoffAgent
    from ddz_agents.neural.model import PolicyModel
    from ddz_agents.neural_search.judge import Judge, Judgement

_SHOWN = 6
"""Moves that are judged: the adviser's own, what it has compared, and what the policy finds likely."""
_SEED = 20


class MoveReview(NamedTuple):
    """What is known of a move of a recorded game.

    Attributes:
        number: How many moves came before it.
        seat: Who made it; None at the end of the game.
        role: What the seat was; None at the end.
        move: The move in the words of its rules; None at the end.
        landlord: The landlord's chance of winning before it, 0 to 1, by what the seat knew; None where it is unknown.
        loss: By how much the move was worse than the best one, in chances of its side; 0 where the difference is within
            the error, None where it is unknown.
    """

    number: int
    seat: int | None
    role: str | None
    move: str | None
    landlord: float | None
    loss: float | None


class Chances:
    """Says how likely moves win, with the shipped policy and its critic (:mod:`ddz_agents.neural_search.judge`)."""

    def judged(self, view: View, advice: Advice, *more: Move) -> Advice:
        """An advice in one ranking: of chances, or of points where an auction or doubling is scored in points.

        The adviser's move stays the first unless another one is better by more than the error of the estimate.  The
        advice is left as it is where nothing is known: with open hands, or with fewer players.

        Args:
            view: What the seat that is advised knows.
            advice: What its adviser says.
            *more: Moves to compare besides.
        """
        if counts_points(view):
            return self._in_points(view, advice)
        if not judges(view):
            return advice
        known = {option.move: option for option in advice.options if option.move is not None}
        likely = self._likely(view)
        moves = list(dict.fromkeys((advice.move, *more, *known, *likely)))[:_SHOWN]
        options = [
            replace(known.get(move, RankedMove(move.main, move)), score=None, prior=likely.get(move), **found._asdict())
            for move, found in zip(moves, self.of_moves(view, moves), strict=True)
        ]
        return _ranked(advice, options, "critic")

    def of_moves(self, view: View, moves: Sequence[Move]) -> list[Judgement]:
        """What is known of some moves; always the same for a position."""
        return self._judge.judge(view, moves, _generator(view))

    def review(self, replay: Replay) -> MoveReview:
        """What the next move of a replay lost, by what its seat knew; at the end who won."""
        table, played = replay.sight(None).table, replay.game.moves[replay.number : replay.number + 1]
        if table.acting is None:
            end = None if table.winner is None else float(table.winner == table.landlord)
            return MoveReview(replay.number, None, None, None, end, None)
        view, seat = replay.view(replay.seat), replay.seat
        text = next((worded(move, replay.question) for _, move in played), None)
        found = MoveReview(replay.number, seat, replay.role(seat), text, None, None)
        if not judges(view):
            return found
        moves = list(dict.fromkeys((*(move for _, move in played), *self._likely(view))))[:_SHOWN]
        own, *others = self.of_moves(view, moves)
        best = max(others, key=lambda other: other.chance, default=own)
        chance = (best if best.chance - own.chance > own.noise else own).chance
        landlord = chance if seat == view.landlord else 1 - chance
        return found._replace(landlord=round(landlord, 4), loss=round(chance - own.chance, 4) if played else None)

    def _in_points(self, view: View, advice: Advice) -> Advice:
        """Every answer with the points that it earns on average in deals that are played out."""
        options = [
            RankedMove(found.move.main, found.move, score=found.payoff + 0.0)
            for found in self._payoff.appraise(view, _generator(view))
        ]
        return _ranked(advice, options, "payoff")

    def _likely(self, view: View) -> dict[Move, float]:
        """What the policy finds likely, with its probabilities, the likeliest first."""
        from ddz_agents.neural_search.judge import likely_moves

        return {line.move: float(np.exp(line.log_prior)) for line in likely_moves(self._model, view, _SHOWN)}

    @functools.cached_property
    def _model(self) -> PolicyModel:
        from ddz_agents.neural.loading import load_policy

        return load_policy()

    @functools.cached_property
    def _payoff(self) -> PayoffAgent:
        from ddz_agents.bidding.policy import PayoffAgent

        return PayoffAgent(gain="points")

    @functools.cached_property
    def _judge(self) -> Judge:
        from ddz_agents.neural_search.judge import Judge

        return Judge(self._model)


def judges(view: View) -> bool:
    """Whether chances are known: while three players play cards and no hand is shown."""
    return view.rules.players == 3 and not view.rules.open_hands and view.landlord is not None and view.stage == "play"


def counts_points(view: View) -> bool:
    """Whether a seat is to answer for points: in an auction, at showing or doubling."""
    return view.stage in AUCTION and auction_counts_points(view.rules)


def auction_counts_points(rules: Rules) -> bool:
    """Whether bids, showing or doubling change what a game pays, in a way that is known."""
    return rules.scoring != "win" and rules.players == 3 and not rules.half_deck


def _generator(view: View) -> np.random.Generator:
    return np.random.default_rng([_SEED, view.seat, len(view.history)])


def _ranked(advice: Advice, options: Sequence[RankedMove], source: str) -> Advice:
    """The advice with its options, the best first; the adviser's move leads those that are as good."""

    def worth(option: RankedMove) -> float:
        return (option.chance if option.score is None else option.score) or 0.0

    best, *others = sorted(options, key=worth, reverse=True)
    own = next((option for option in others if option.move == advice.move), best)
    if worth(best) - worth(own) <= (own.noise or 0.0):
        best, others = own, [option for option in (best, *others) if option is not own]
    assert best.move is not None
    return replace(advice, move=best.move, options=(best, *others), source=source)
