"""Chances of winning on the page: of a hint's move and of others, from one source, with a sentence that says why."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ddz_env import Move, View
from ddz_env.table.session import Advice, RankedMove

if TYPE_CHECKING:
    from ddz_agents.neural.model import PolicyModel
    from ddz_agents.neural_search.judge import Judge

_SHOWN = 6
"""Moves that are judged: the adviser's own, what it has compared, and what the policy finds likely."""
_SEED = 20


class Chances:
    """Says how likely moves win, with the shipped policy and its critic (:mod:`ddz_agents.neural_search.judge`)."""

    def judged(self, view: View, advice: Advice) -> Advice:
        """An advice with a chance for its move, and for others where there are any; the best of these first.

        It is left as it is where the judge knows nothing: in an auction, with open hands, or with fewer players.

        Args:
            view: What the seat that is advised knows.
            advice: What its adviser says.
        """
        if not judges(view):
            return advice
        known = {option.move: option for option in advice.options if option.move is not None}
        likely = self._likely(view)
        moves = list(dict.fromkeys((advice.move, *known, *likely)))[:_SHOWN]
        options = []
        for move, chance in zip(moves, self.of_moves(view, moves), strict=True):
            option = known.get(move, RankedMove(move.main, move))
            options.append(replace(option, chance=chance, score=None, prior=likely.get(move)))
        own, *others = options
        others.sort(key=lambda option: -(option.chance or 0.0))
        return replace(advice, options=(own, *others), source="critic")

    def of_moves(self, view: View, moves: Sequence[Move]) -> list[float]:
        """The chance after each of some moves; always the same for a position."""
        return self._judge.chances(view, moves, np.random.default_rng([_SEED, view.seat, len(view.history)]))

    def of_position(self, view: View) -> float | None:
        """The chance of the side to act, if it plays as the policy does; None where nothing is known."""
        if not judges(view):
            return None
        return self.of_moves(view, [next(iter(self._likely(view)))])[0]

    def _likely(self, view: View) -> dict[Move, float]:
        """What the policy finds likely, with its probabilities, the likeliest first."""
        from ddz_agents.neural_search.judge import likely_moves

        return {line.move: float(np.exp(line.log_prior)) for line in likely_moves(self._model, view, _SHOWN)}

    @functools.cached_property
    def _model(self) -> PolicyModel:
        from ddz_agents.neural.loading import load_policy

        return load_policy()

    @functools.cached_property
    def _judge(self) -> Judge:
        from ddz_agents.neural_search.judge import Judge

        return Judge(self._model)


def judges(view: View) -> bool:
    """Whether chances are known: while three players play cards and no hand is shown."""
    return view.rules.players == 3 and not view.rules.open_hands and view.landlord is not None and view.stage == "play"
