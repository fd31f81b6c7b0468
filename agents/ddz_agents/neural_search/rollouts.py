"""Moves valued by what the policy makes of them: each candidate is played on in the same worlds.

There is no tree.  The candidates are whole moves, kickers included, that the policy likes best.  In every world all of
them are played, and the policy plays each game on, every seat by what it sees, to the end or until the critic is asked.
The final choice is the move with the largest pi * exp(q / tau): the policy's probability counts as evidence beside the
mean value q, the more the larger tau is.  A candidate that is clearly worse than the best is dropped, and the others
share the rest of the budget.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats, PolicyModel
from ddz_agents.neural_search.descent import Descents, Searcher, describe_leaf, new_descents
from ddz_agents.neural_search.halving import Clock
from ddz_agents.neural_search.leaves import Evaluator, ask, write_results
from ddz_agents.neural_search.others import Others, nobody, skip_known
from ddz_agents.worlds.determinize import WorldPool, draw_world
from ddz_env import Move, View
from ddz_env.core.actions import KICKER_BASE, MAX_KICKERS
from ddz_env.core.engine.compiling import kernel
from ddz_env.core.engine.layout import LANDLORD, ROW_WORDS, SEAT, STAGE, STAGE_KICKER
from ddz_env.core.engine.random import key
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.observation import write_mask, write_observation
from ddz_env.core.owned import OwnsArrays
from ddz_env.playing.agent import Decision
from ddz_env.playing.thoughts import Candidate

_NONE = -1
"""Stands behind a move's last stage."""
_SURE = 3.0
"""Standard errors by which a dropped candidate must be behind."""
_FEWEST = 16
"""Worlds before any is dropped."""


class Line(NamedTuple):
    """A whole move, perhaps unfinished.

    Attributes:
        actions: Its stages so far.
        log_prior: The logarithm of the policy's probability of all of them.
        row: The searcher's row behind them, shape ``[32]``, uint64.
        ring: The recent moves behind them, shape ``[16, 2]``, uint64.
    """

    actions: tuple[int, ...]
    log_prior: float
    row: npt.NDArray[np.uint64]
    ring: npt.NDArray[np.uint64]

    @property
    def whole(self) -> bool:
        """Whether no stage is left."""
        return bool(self.actions) and int(self.row[STAGE]) != STAGE_KICKER

    @property
    def move(self) -> Move:
        """The move."""
        return Move(self.actions[0], tuple(action - KICKER_BASE for action in self.actions[1:]))


def likely_moves(model: PolicyModel, view: View, most: int) -> list[Line]:
    """The whole moves that a policy likes best, stage by stage (a beam search), the likeliest first.

    Args:
        model: The policy.
        view: What the seat to act knows.
        most: How many.
    """
    lines = [Line((), 0.0, view.row, view.ring)]
    while not all(line.whole for line in lines):
        begun = [line for line in lines if not line.whole]
        found = [line for line in lines if line.whole]
        for line, logs in zip(begun, _ask(model, view, begun), strict=True):
            for action in np.argsort(-logs, kind="stable")[:most].tolist():
                if logs[action] > -np.inf:
                    found.append(_after(line, action, float(logs[action]), view.rule_words))
        lines = sorted(found, key=lambda line: -line.log_prior)[:most]
    return lines


def _ask(model: PolicyModel, view: View, lines: list[Line]) -> Floats:
    """The policy's logarithms of probabilities behind some lines, shape ``[lines, 400]``."""
    seen, mask = new_descents(len(lines), 0), np.empty(MASK_WORDS, np.uint64)
    for place, line in enumerate(lines):
        write_observation(line.row, line.ring, view.rule_words, np.uint64(view.seat), seen.observations[place])
        write_mask(line.row, view.rule_words, mask, seen.masks[place])
    return ask(model, seen)[0]


def _after(line: Line, action: int, log_probability: float, rules: npt.NDArray[np.uint64]) -> Line:
    row, ring = line.row.copy(), line.ring.copy()
    apply_and_record(row, ring, np.uint64(action), rules)
    return Line((*line.actions, action), line.log_prior + log_probability, row, ring)


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
            descents.waits[index] = skip_known(row, ring, searcher.rules, mask, searcher.others)
            if descents.waits[index]:
                describe_leaf(row, ring, searcher.rules, mask, descents, index)


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
        lines: list[Line],
        clock: Clock,
        seed: np.uint64,
        others: Others | None = None,
    ) -> Decision:
        """Value some moves, and choose.

        Args:
            view: What the searcher knows.
            pool: Weighted determinizations to draw worlds from; empty for uniform ones.
            lines: Whole moves; each game that one is played on in is a descent of the budget.
            clock: The budget; at least one world.
            seed: Of the worlds.
            others: What is known of the other seats; nothing if not given.
        """
        seat, known = np.uint64(view.seat), others or nobody()
        searcher = Searcher(view.row, view.ring, seat, view.rule_words, pool, np.float64(0.0), np.bool_(True), known)
        priors = np.array([line.log_prior for line in lines])
        alive, values = np.arange(len(lines)), np.empty((0, len(lines)))
        while not len(values) or (len(alive) > 1 and not clock.over(1.0)):
            share = clock.share(max(1, self._room // len(alive)), len(alive))
            part = np.full((share, len(lines)), np.nan)
            part[:, alive] = self._values(searcher, [lines[place] for place in alive], seed, len(values), share)
            values = np.concatenate([values, part])
            clock.spend(share * len(alive))
            alive = self._contenders(values[:, alive], priors[alive], alive)
        means = np.nanmean(values, axis=0)
        best = int(alive[np.argmax(means[alive] + self._tau * priors[alive])])
        return self._decision(lines, values, means, best)

    def settle(self, line: Line) -> Decision:
        """A move that is played without a search."""
        self._found = []
        return Decision(line.move, {line.actions[0]: 1}, line=line.actions)

    def candidates(self) -> list[Candidate]:
        """The moves of the last search, the most visited first."""
        return self._found

    def _values(
        self, searcher: Searcher, lines: list[Line], seed: np.uint64, first: int, worlds: int
    ) -> npt.NDArray[np.float64]:
        """The searcher's chance after each line in each world, shape ``[worlds, lines]``."""
        stages = np.full((len(lines), 1 + MAX_KICKERS), _NONE, np.int16)
        for place, line in enumerate(lines):
            stages[place, : len(line.actions)] = line.actions
        games = new_descents(worlds * len(lines), 0)
        _begin(searcher, stages, seed, first, worlds, games)
        values = np.zeros(len(games.waits), np.float32)
        write_results(games, np.full(len(values), searcher.seat, np.uint64), values)
        waiting = np.flatnonzero(games.waits)
        if len(waiting):
            copies = games.copied(waiting)
            landlord = copies.rows[:, LANDLORD].copy()
            same_side = (copies.rows[:, SEAT] == landlord) == (searcher.seat == landlord)
            found = self._evaluator.leaves(copies, searcher.rules, searcher.others).values
            values[waiting] = np.where(same_side, found, -found)
        chances: npt.NDArray[np.float64] = (1.0 + np.clip(values, -1.0, 1.0).astype(np.float64)) / 2.0
        return chances.reshape(worlds, len(lines))

    def _contenders(
        self, values: npt.NDArray[np.float64], priors: npt.NDArray[np.float64], alive: npt.NDArray[np.intp]
    ) -> npt.NDArray[np.intp]:
        """Those that may still be the best: the others are behind by some standard errors of the difference."""
        if len(values) < _FEWEST or len(alive) == 1:
            return alive
        scores = values.mean(axis=0) + self._tau * priors
        best = int(np.argmax(scores))
        behind = values[:, [best]] - values
        errors = np.sqrt((behind.var(axis=0) + 1.0 / len(values)) / len(values))
        return alive[scores[best] - scores <= _SURE * errors]

    def _decision(
        self, lines: list[Line], values: npt.NDArray[np.float64], means: npt.NDArray[np.float64], best: int
    ) -> Decision:
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
