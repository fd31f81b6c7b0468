"""Games that say what weights are worth, on numbered deals.

Every candidate plays the same deals against the same opponent, so that the luck of the cards is the same for all of
them, and two candidates differ only where they play differently.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ddz_agents.open_cards.textbook.agent import AlphaBetaOptions
from ddz_agents.open_cards.textbook.candidates import Space
from ddz_agents.open_cards.textbook.search import new_space, probabilities, value_moves
from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.tree_search.rollout import list_candidates
from ddz_agents.tree_search.simulate import landlord_won
from ddz_env import Rules
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import LANDLORD, ROW_WORDS, SEAT, STAGE, STAGE_PLAY
from ddz_env.core.engine.step import play_move
from ddz_env.core.state import game_key


def deals(seed: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """The generator states of numbered deals of a seed, shape ``[count]``."""
    return np.array([game_key(seed, number) for number in range(first, first + count)], np.uint64)


@kernel
def play_rules(
    games: npt.NDArray[np.uint64],
    rules: npt.NDArray[np.uint64],
    mind: RuleScratch,
    landlord: npt.NDArray[np.int64],
    peasants: npt.NDArray[np.int64],
    won: npt.NDArray[np.float64],
) -> None:
    """Play a game a deal between rule agents.

    Args:
        games: The generator states of the deals (:func:`deals`), shape ``[n]``.
        rules: The rules array, of a preset with a fixed landlord.
        mind: The rule agent's memory.
        landlord: The landlord's weights, shape ``[33]``.
        peasants: The peasants' weights.
        won: Output, shape ``[n]``: 1 where the landlord won.
    """
    row = np.zeros(ROW_WORDS, np.uint64)
    for index in range(games.size):
        new_game(row, games[index], rules)
        while row[STAGE] == STAGE_PLAY:
            main, kickers = rules_move(row, rules, mind, landlord if row[SEAT] == row[LANDLORD] else peasants)
            play_move(row, main, kickers, rules)
        won[index] = 1.0 if landlord_won(row) else 0.0


class OpenGames:
    """Games of a depth-limited search that sees all hands against the rule agent.

    Args:
        depth: How deep it searches.
        candidates: Moves that it compares.
    """

    def __init__(self, depth: int = 1, candidates: int = 12) -> None:
        self._rules, self._mind, self._row = Rules().words(), new_rule_scratch(), np.zeros(ROW_WORDS, np.uint64)
        self._seen = self._row.view()
        self._seen.flags.writeable = False  # as a view's row, for which the rule agent is compiled
        self._settings, self._depth = AlphaBetaOptions(table=False).settings(), depth
        self._mains, self._kickers = np.zeros((2, candidates), np.uint64)
        self._scores, self._values = np.zeros(candidates, np.int64), np.zeros(candidates)

    def play(
        self, weights: npt.NDArray[np.float64], games: npt.NDArray[np.uint64], landlord: bool
    ) -> npt.NDArray[np.float64]:
        """One game a deal: 1 where the search wins, shape ``[n]``.

        Args:
            weights: What the features of a position count, shape ``[12]``.
            games: The generator states of the deals.
            landlord: Whether the search is the landlord, or both peasants.
        """
        space = new_space(self._rules, weights, probabilities(), table_bits=1)
        return np.array([self._wins(space, game, landlord) for game in games], np.float64)

    def _wins(self, space: Space, game: np.uint64, landlord: bool) -> bool:
        row = self._row
        new_game(row, game, self._rules)
        while row[STAGE] == STAGE_PLAY:
            if (row[SEAT] == row[LANDLORD]) == landlord:
                main, kickers = self._searched(space)
            else:
                main, kickers = rules_move(self._seen, self._rules, self._mind, WEIGHTS)
            play_move(row, np.uint64(main), np.uint64(kickers), self._rules)
        return bool(landlord_won(row)) == landlord

    def _searched(self, space: Space) -> tuple[np.uint64, np.uint64]:
        mains, kickers = self._mains, self._kickers
        count = list_candidates(self._seen, self._rules, self._mind, mains, kickers, self._scores)
        if count == 1:
            return mains[0], kickers[0]
        values = self._values[:count]
        value_moves(space, self._row, WEIGHTS, mains[:count], kickers[:count], self._depth, self._settings, values)
        best = int(np.argmax(values))
        return mains[best], kickers[best]
