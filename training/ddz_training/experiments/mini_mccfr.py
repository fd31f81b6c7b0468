"""Outcome-sampling Monte Carlo CFR (Lanctot et al. 2009), OpenSpiel's own, on Mini.

Mini is too large for exact CFR.  The sampled kind learns from one game an iteration; its average policy then meets
random play on both seats.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ddz_env.core.options import Range
from ddz_training.experiments.experiment import Experiment, Saved, SeedOptions, Table, kept
from ddz_training.measure.match.ordered_map import Worker
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import wilson_interval

GAME = "python_ddz(rules=mini)"
ITERATIONS = (0, 1_000, 10_000, 100_000)
"""After how many iterations the average policy is tried; after none it is uniform."""


@dataclass(frozen=True)
class MccfrResult:
    """How an average policy fares against random play.

    Attributes:
        iterations: Iterations of the solver.
        games: Games on each seat.
        wins_1: Those that it wins as player 1.
        wins_2: Those that it wins as player 2.
    """

    iterations: int
    games: int
    wins_1: int
    wins_2: int


@dataclass(frozen=True)
class MccfrOptions(SeedOptions):
    """How a policy is tried.

    Attributes:
        games: Games on each seat.
    """

    games: Annotated[int, Range(1, 2**20)] = 1_000


class _Sampler(Worker[int, list[MccfrResult]]):
    """Trains on, from one number of iterations to the next."""

    def __init__(self, options: MccfrOptions) -> None:
        import pyspiel

        import ddz_env.peers.openspiel  # noqa: F401  # registers the game

        self._options, self._done = options, 0
        self._game = pyspiel.load_game(GAME)
        self._solver = pyspiel.OutcomeSamplingMCCFRSolver(self._game, seed=options.seed % 2**31)

    def play(self, iterations: int) -> list[MccfrResult]:
        for _ in range(self._done, iterations):
            self._solver.run_iteration()
        self._done = max(self._done, iterations)
        policy, games = self._solver.average_policy(), range(self._options.games)
        wins = [sum(self._wins(policy, seat, game) for game in games) for seat in (0, 1)]
        return [MccfrResult(iterations, self._options.games, *wins)]

    def _wins(self, policy: Any, seat: int, game: int) -> bool:
        rng = np.random.default_rng([self._options.seed, game])
        state = self._game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, probabilities = zip(*state.chance_outcomes(), strict=True)
            elif state.current_player() == seat:
                chosen = policy.action_probabilities(state)
                actions, probabilities = tuple(chosen), tuple(chosen.values())
            else:
                actions, probabilities = tuple(state.legal_actions()), None
            state.apply_action(int(rng.choice(actions, p=probabilities)))
        return bool(state.returns()[seat] > 0)


def run_mini_mccfr(
    options: MccfrOptions | None = None,
    path: Path | None = None,
    on_progress: OnProgress = no_progress,
    iterations: Sequence[int] = ITERATIONS,
) -> Saved[MccfrResult]:
    """Train, and try the average policy every now and then.

    Args:
        options: How a policy is tried.
        path: Where to save, one line a number of iterations; a file of an earlier run is resumed.
        on_progress: Told how many policies have been tried.
        iterations: The numbers of iterations, ascending.
    """
    options = options or MccfrOptions()
    settings = {"experiment": "mini-mccfr", "seed": options.seed, "games": options.games}
    store = ResultStore(MccfrResult, path, settings, ("iterations",))
    tasks = {(number,): number for number in iterations}
    return kept(store, store.fill(tasks, functools.partial(_Sampler, options), 1, on_progress))


def mini_mccfr_table(saved: Saved[MccfrResult]) -> Table:
    """The rates of wins against random play."""
    lines = [
        (f"{result.iterations:,}", *(_rate(wins, result.games) for wins in (result.wins_1, result.wins_2)))
        for result in saved.results
    ]
    header = ("iterations", "wins as player 1, %", "as player 2, %")
    games = saved.settings["games"]
    note = f"{games:,} games a seat against random play, 95 % intervals (Wilson); computed from {saved.name}."
    return Table("Outcome-sampling MCCFR on Mini", header, lines, note)


def _rate(wins: int, games: int) -> str:
    interval = wilson_interval(wins, games)
    return f"{interval.text()} ({interval.span(to='–')})"


MINI_MCCFR = Experiment(
    name="mini-mccfr",
    source="Lanctot, Waugh, Zinkevich and Bowling 2009; OpenSpiel's solver",
    about="Outcome-sampling MCCFR on Mini: its average policy against random play.",
    unit="policies",
    options=MccfrOptions,
    result=MccfrResult,
    run=run_mini_mccfr,
    tables={"mini-mccfr": mini_mccfr_table},
    file="mini_mccfr",
)
