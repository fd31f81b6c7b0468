"""The agent ``rollout``, which compares candidate moves by playouts in the same determinizations.

A search that simulates every legal move spreads its budget over dozens that no player would look at; the *candidates*
are those of :mod:`ddz_agents.rules.candidates`.

Every candidate is played out in the same worlds, and the worse half is dropped, again and again.  The luck of the
hidden cards is the same for all candidates of a world, so it cancels out of their comparison, as duplicate deals cancel
it between agents.  The budget is shared out by sequential halving (Karnin, Koren and Somekh 2013): as many rounds as
halvings, each with an equal share of the rollouts, after each of which the worse half of the candidates is dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.agent import choose_move
from ddz_agents.rules.candidates import best_candidates
from ddz_agents.rules.playouts import play_out
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_agents.search_agent import InferringAgent, Milliseconds, Position
from ddz_agents.worlds.determinize import Words, WorldPool, draw_world
from ddz_agents.worlds.inference import MOST_PARTICLES, infer_pool
from ddz_env import Move, View
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import LANDLORD, ROW_WORDS, STAGE, STAGE_PLAY
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.score import landlord_won
from ddz_env.core.engine.step import play_move
from ddz_env.playing.agent import Decision
from ddz_env.playing.search_statistics import Candidate
from ddz_env.support.clocks import Clock
from ddz_env.support.compiling import inline_kernel, kernel, part_kernel
from ddz_env.support.options import Options, Range, takes_options


class Arms(NamedTuple):
    """The candidate moves, each with its numbers of rollouts and of wins.

    Attributes:
        mains: Main groups, 0 for pass, shape ``[n]``, uint64.
        kickers: Their kickers as hands, shape ``[n]``, uint64.
        runs: Rollouts, shape ``[n]``, int64.
        wins: Rollouts that the side of the searcher won, shape ``[n]``, int64.
        order: The candidates, the best first, shape ``[n]``, int64.
        rule_move_bonus: Bonus of the first candidate, in square roots of its rollouts: others must win by more than
            luck.
    """

    mains: Words
    kickers: Words
    runs: npt.NDArray[np.int64]
    wins: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    rule_move_bonus: float


def new_arms(mains: Words, kickers: Words, rule_move_bonus: float = 0.0) -> Arms:
    """Create a table of candidate moves in the given order, with zero rollouts and wins."""
    runs, wins = np.zeros((2, len(mains)), np.int64)
    return Arms(mains, kickers, runs, wins, np.arange(len(mains), dtype=np.int64), rule_move_bonus)


@inline_kernel
def _score(arms: Arms, arm: int) -> float:
    """Return a candidate's number of wins, plus a bonus for the first candidate, the rule agent's move."""
    bonus = arms.rule_move_bonus * math.sqrt(float(arms.runs[arm])) if arm == 0 else 0.0
    return float(arms.wins[arm]) + bonus


@part_kernel
def _sort(arms: Arms, alive: int) -> None:
    """Sort the first ``alive`` candidates by score, the best first, keeping the order of ties."""
    for index in range(1, alive):
        arm, back = arms.order[index], index
        score = _score(arms, arm)
        while back > 0 and _score(arms, arms.order[back - 1]) < score:
            arms.order[back] = arms.order[back - 1]
            back -= 1
        arms.order[back] = arm


@kernel
def play_worlds(
    position: Position, arms: Arms, alive: int, worlds: int, pool: WorldPool, workspace: RuleWorkspace, state: np.uint64
) -> np.uint64:
    """Play the best ``alive`` candidates out in the same random determinizations, then sort them by score.

    Args:
        position: The searcher's position, in the play stage.
        arms: The candidates, changed in place.
        alive: How many of them, in their order.
        worlds: Determinizations, the same for all.
        pool: Weighted determinizations to draw from; empty for uniform ones.
        workspace: The rule agent's memory.
        state: The generator's state.

    Returns:
        The generator's new state.
    """
    world, row = np.empty(ROW_WORDS, np.uint64), np.empty(ROW_WORDS, np.uint64)
    view, rules, seat = position.row, position.rules, np.uint64(position.seat)
    landlord = view[LANDLORD] == seat
    for _ in range(worlds):
        state = draw_world(view, seat, rules, pool, state, world)
        for index in range(alive):
            arm = arms.order[index]
            row[:] = world
            play_move(row, arms.mains[arm], arms.kickers[arm], rules)
            play_out(row, rules, workspace)
            arms.runs[arm] += 1
            arms.wins[arm] += 1 if landlord_won(row) == landlord else 0
    _sort(arms, alive)
    return state


@dataclass(frozen=True)
class RolloutOptions(Options):
    """How many rollouts compare how many candidates, and in which worlds.

    Attributes:
        iterations: Rollouts per decision.
        milliseconds: Thinking time per decision, instead of rollouts; results then depend on the machine.
        candidates: Moves compared, always including the rule agent's.
        particles: Number of determinizations from which worlds are drawn, weighted by how plausible they make the
            hidden seats' past moves; 0 draws uniform worlds. Weighing them takes time on top of `milliseconds`.
        caution: How far another candidate must beat the rule agent's move: this many times the square root of its
            number of rollouts is added to the rule agent's wins.
    """

    iterations: Annotated[int, Range(1, 100_000_000)] = 1000
    milliseconds: Milliseconds = None
    candidates: Annotated[int, Range(2, NUM_ACTIONS)] = 12
    particles: Annotated[int, Range(0, MOST_PARTICLES)] = 300
    caution: Annotated[float, Range(0)] = 0.5


class RolloutAgent(InferringAgent):
    """Duplicate rollouts with sequential halving.  In the auction and at doubling it follows the rule agent.

    Raises:
        InvalidAgentOptionError: If there is no such option, or its value is not allowed.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RolloutAgent(iterations=60).act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    options: RolloutOptions

    @takes_options(RolloutOptions)
    def __init__(self, options: RolloutOptions) -> None:
        super().__init__(options)
        self._workspace = new_rule_workspace()
        self._compared: Arms | None = None

    def _search(self, view: View, position: Position, rng: np.random.Generator) -> Decision:
        """Compare the candidates by rollouts, and return the best one with each main group's win rate."""
        if int(position.row[STAGE]) != STAGE_PLAY:
            return Decision(choose_move(position.row, position.rules, self._workspace))
        mains, kickers = best_candidates(position.row, position.rules, self._workspace, self.options.candidates)
        arms = self._compared = new_arms(mains, kickers, self.options.caution)
        if len(arms.order) > 1:
            pool = infer_pool(view, rng, self.options.particles)
            self._compare(position, arms, pool, np.uint64(rng.integers(0, 2**64, dtype=np.uint64)))
        move = _move_of_arm(arms, int(arms.order[0]))
        best: dict[int, Candidate] = {}
        for candidate in self.candidates(view):
            best.setdefault(candidate.move.main, candidate)
        visits = {main: candidate.visits for main, candidate in best.items()}
        chances = {main: candidate.chance for main, candidate in best.items()}
        return Decision(move, visits, chances, move.actions)

    def candidates(self, view: View) -> list[Candidate]:
        """List the complete moves that the last search compared, the best first."""
        arms = self._compared
        if arms is None:
            return []
        return [
            Candidate(_move_of_arm(arms, arm), int(arms.runs[arm]), float(arms.wins[arm] / arms.runs[arm]))
            for arm in arms.order.tolist()
            if arms.runs[arm]
        ]

    def _compare(self, position: Position, arms: Arms, pool: WorldPool, seed: np.uint64) -> None:
        """Compare the candidates by sequential halving within a budget of rollouts or time."""
        clock, alive, state = (
            Clock(self.options.milliseconds),
            len(arms.order),
            np.uint64(stream_state(seed, np.uint64(0))),
        )
        rounds = (alive - 1).bit_length()
        for number in range(1, rounds + 1):
            worlds = max(1, self.options.iterations // (rounds * alive)) if clock.seconds is None else 1
            while True:
                state = np.uint64(play_worlds(position, arms, alive, worlds, pool, self._workspace, state))
                if clock.is_over(number / rounds):
                    break
            alive = (alive + 1) // 2


def _move_of_arm(arms: Arms, arm: int) -> Move:
    return Move.from_words(int(arms.mains[arm]), int(arms.kickers[arm]))
