"""Moves valued by what the policy makes of them: each candidate is played on in the same worlds.

There is no tree.  The candidates are whole moves, kickers included, that the policy likes best.  In every world all of
them are played, and the policy plays each game on, every seat by what it sees, to the end or until the critic is asked.
The final choice is the move with the largest pi * exp(q / tau): the policy's probability counts as evidence beside the
mean value q, the more the larger tau is.  A candidate that is clearly worse than the best is dropped, and the others
share the rest of the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.agent import PartialMove, next_stages
from ddz_agents.neural.model import Floats, PolicyModel
from ddz_agents.neural_search.descent import Descents, Searcher, describe_leaf, new_descents
from ddz_agents.neural_search.forest import Clock
from ddz_agents.neural_search.leaves import Evaluator, write_results
from ddz_agents.neural_search.opponent_model import OpponentModel, nobody, skip_known
from ddz_agents.worlds.determinize import Reals, WorldPool, draw_world
from ddz_env import View
from ddz_env.core.actions import MAX_KICKERS
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import LANDLORD, ROW_WORDS, SEAT
from ddz_env.core.engine.random import key
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.owned import OwnsArrays
from ddz_env.playing.agent import Decision
from ddz_env.playing.thoughts import Candidate

_NONE = -1
"""Stands behind a move's last stage."""
_SURE = 3.0
"""Standard errors by which a dropped candidate must be behind."""
_FEWEST = 16
"""Worlds before any is dropped."""


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


@kernel
def _begin(searcher: Searcher, lines: np.ndarray, deal: np.uint64, first: int, worlds: int, descents: Descents) -> None:
    """Play every line in every world, and what needs no decision after it; describe where the games then stand.

    Args:
        searcher: Who searches.
        lines: The stages of each, shape ``[lines, 1 + MAX_KICKERS]``, int16, ``-1`` behind the last.
        deal: Seed of the sequence of worlds.
        first: The number of the first world in it.
        worlds: How many.
        descents: Output, line by line within world by world.
    """
    mask, drawn = np.empty(MASK_WORDS, np.uint64), np.empty(ROW_WORDS, np.uint64)
    for world in range(worlds):
        state = np.uint64(key(deal, np.uint64(first + world)))
        draw_world(searcher.row, searcher.seat, searcher.rules, searcher.pool, state, drawn)
        for line in range(lines.shape[0]):
            index = world * lines.shape[0] + line
            row, ring = descents.rows[index], descents.rings[index]
            row[:] = drawn
            ring[:] = searcher.ring
            for stage in range(lines.shape[1]):
                if lines[line, stage] >= 0:
                    apply_and_record(row, ring, np.uint64(lines[line, stage]), searcher.rules)
            descents.waits[index] = skip_known(row, ring, searcher.rules, mask, searcher.opponents)
            if descents.waits[index]:
                describe_leaf(row, ring, searcher.rules, mask, descents, index)


def chances_after(
    searcher: Searcher,
    moves: Sequence[tuple[int, ...]],
    seed: np.uint64,
    worlds: range,
    evaluate: Callable[[Descents], Floats],
) -> Reals:
    """The chance of the searcher's side after each move in each world, shape ``[worlds, moves]``.

    Args:
        searcher: Who searches.
        moves: The stages of each.
        seed: Of the worlds.
        worlds: The numbers of the worlds.
        evaluate: What games that go on are worth to the seats to act, -1 to 1.
    """
    stages = np.full((len(moves), 1 + MAX_KICKERS), _NONE, np.int16)
    for place, actions in enumerate(moves):
        stages[place, : len(actions)] = actions
    games = new_descents(len(worlds) * len(moves), 0)
    _begin(searcher, stages, seed, worlds.start, len(worlds), games)
    values = np.zeros(len(games.waits), np.float32)
    write_results(games, np.full(len(values), searcher.seat, np.uint64), values)
    waiting = np.flatnonzero(games.waits)
    if len(waiting):
        copies = games.copied(waiting)
        landlord = copies.rows[:, LANDLORD].copy()
        same_side = (copies.rows[:, SEAT] == landlord) == (searcher.seat == landlord)
        found = evaluate(copies)
        values[waiting] = np.where(same_side, found, -found)
    chances: Reals = (1.0 + np.clip(values, -1.0, 1.0).astype(np.float64)) / 2.0
    return chances.reshape(len(worlds), len(moves))


class Rollouts(OwnsArrays):
    """The candidates of one decision after the other, played on by the policy.

    Args:
        evaluator: Plays on and values.
        room: Games that are played on side by side.
        tau: How much the policy's probability counts beside the values, which lie between 0 and 1.
    """

    def __init__(self, evaluator: Evaluator, room: int, tau: float) -> None:
        self._evaluator, self._room, self._tau = evaluator, room, tau
        self._found: list[Candidate] = []

    def search(
        self,
        view: View,
        pool: WorldPool,
        lines: list[PartialMove],
        clock: Clock,
        seed: np.uint64,
        opponents: OpponentModel | None = None,
    ) -> Decision:
        """Value some moves, and choose.

        Args:
            view: What the searcher knows.
            pool: Weighted determinizations to draw worlds from; empty for uniform ones.
            lines: Whole moves; each game that one is played on in is a descent of the budget.
            clock: The budget; at least one world.
            seed: Of the worlds.
            opponents: What is known of the other seats; nothing if not given.
        """
        seat, known = np.uint64(view.seat), opponents or nobody()
        searcher = Searcher(view.row, view.ring, seat, view.rule_words, pool, np.float64(0.0), np.bool_(True), known)

        def evaluate(games: Descents) -> Floats:
            return self._evaluator.leaves(games, searcher.rules, known).values

        priors = np.array([line.log_prior for line in lines])
        alive, values = np.arange(len(lines)), np.empty((0, len(lines)))
        while not len(values) or (len(alive) > 1 and not clock.over(1.0)):
            share = clock.turns(max(1, self._room // len(alive)), len(alive))
            part = np.full((share, len(lines)), np.nan)
            moves, numbers = [lines[place].actions for place in alive], range(len(values), len(values) + share)
            part[:, alive] = chances_after(searcher, moves, seed, numbers, evaluate)
            values = np.concatenate([values, part])
            clock.spend(share * len(alive))
            alive = self._contenders(values[:, alive], priors[alive], alive)
        means = np.nanmean(values, axis=0)
        best = int(alive[np.argmax(means[alive] + self._tau * priors[alive])])
        return self._decision(lines, values, means, best)

    def settle(self, line: PartialMove) -> Decision:
        """A move that is played without a search."""
        self._found = []
        return Decision(line.move, {line.actions[0]: 1}, line=line.actions)

    def candidates(self) -> list[Candidate]:
        """The moves of the last search, the most visited first."""
        return self._found

    def _contenders(self, values: Reals, priors: Reals, alive: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Those that may still be the best: the others are behind by some standard errors of the difference."""
        if len(values) < _FEWEST or len(alive) == 1:
            return alive
        scores = values.mean(axis=0) + self._tau * priors
        best = int(np.argmax(scores))
        behind = values[:, [best]] - values
        errors = np.sqrt((behind.var(axis=0) + 1.0 / len(values)) / len(values))
        return alive[scores[best] - scores <= _SURE * errors]

    def _decision(self, lines: list[PartialMove], values: Reals, means: Reals, best: int) -> Decision:
        counts = np.count_nonzero(~np.isnan(values), axis=0).tolist()
        found = [
            Candidate(line.move, count, float(mean)) for line, count, mean in zip(lines, counts, means, strict=True)
        ]
        self._found = sorted(found, key=lambda one: (-one.visits, -one.chance, one.move.actions))
        visits: dict[int, int] = {}
        chances: dict[int, float] = {}
        for one in found:
            visits[one.move.main] = visits.get(one.move.main, 0) + one.visits
            chances[one.move.main] = max(chances.get(one.move.main, 0.0), one.chance)
        chosen = lines[best]
        return Decision(chosen.move, dict(sorted(visits.items())), chances, chosen.actions)
