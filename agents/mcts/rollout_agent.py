"""The rollout agent: the candidates of a good player, compared in the same worlds, played out by a good player."""

from __future__ import annotations

import time

import numpy as np

from agents.mcts.candidates import list_candidates
from agents.mcts.choice import finishing_move, only_move
from agents.mcts.errors import check_budget, check_choice, check_count
from agents.mcts.rollouts import Arms, new_arms, play_worlds
from agents.mcts.settings import SIMULATIONS, plain
from agents.mcts.simulate_planned import new_plan
from agents.rule_agent.rules import rules_move
from agents.rule_agent.weights import WEIGHTS
from agents.worlds.consistency import check_view
from agents.worlds.inferred import MOST_PARTICLES, inferred_pool
from agents.worlds.pool import Pool
from ddz_env import Move, View
from ddz_env.agent import Decision
from ddz_env.engine.layout import SEAT, STAGE, STAGE_PLAY
from ddz_env.engine.random import key
from ddz_env.errors import IllegalMoveError


class RolloutAgent:
    """Duplicate rollouts with sequential halving (:mod:`agents.mcts.rollouts`).

    In the auction and at doubling it follows the rule agent.

    Args:
        iterations: Rollouts a decision.
        milliseconds: Thinking time a decision instead of rollouts; results then depend on the machine.
        simulation: ``random``, ``planned`` or ``rules``.
        candidates: Moves compared, the rule agent's always among them.
        particles: Draw worlds from so many determinizations, weighted by how plausible the hidden seats' past moves
            are (:mod:`agents.worlds`); 0 for uniform ones.
        caution: How far another candidate must beat the rule agent's move to be preferred, in standard deviations of
            sorts: square roots of its rollouts are added to its wins so many times.

    Raises:
        InvalidBudgetError: If a number is out of range, or one that counts is not whole.
        InvalidSearchOptionError: If there is no such simulation.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RolloutAgent(iterations=60).act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    cheats = False

    def __init__(
        self,
        iterations: int = 1000,
        milliseconds: float | None = None,
        simulation: str = "rules",
        candidates: int = 12,
        particles: int = 300,
        caution: float = 0.5,
    ) -> None:
        check_budget("milliseconds", 1 if milliseconds is None else milliseconds, 0.1)
        check_budget("caution", caution, 0)
        self.caution = float(caution)
        self.iterations = check_count("iterations", iterations, 1)
        self.milliseconds = milliseconds
        self.candidates = check_count("candidates", candidates, 2)
        self.particles = check_count("particles", particles, 0, MOST_PARTICLES)
        index = check_choice("simulation", simulation, SIMULATIONS)
        self.settings = plain()._replace(simulation=np.int64(index))
        self._plan = new_plan()
        self._scores = np.zeros(self.candidates, np.int64)

    @property
    def name(self) -> str:
        """The agent's class and budget."""
        budget = f"{self.milliseconds:g}ms" if self.milliseconds else str(self.iterations)
        return f"{type(self).__name__}({budget})"

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Compare the candidates and return the best."""
        return self.decide(view, rng).move

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        """Compare the candidates; visits and values are those of the best candidate of each main group."""
        root, rules = view.row, view.rule_words
        check_view(root, view.seat, rules)
        if int(root[SEAT]) != view.seat:
            raise IllegalMoveError(f"seat {view.seat} is asked to act, but it is seat {int(root[SEAT])}'s turn")
        move = only_move(root, rules) or finishing_move(root, view.seat, rules)
        if move is not None:
            return Decision(move, line=move.actions)
        if int(root[STAGE]) != STAGE_PLAY:
            main, kickers = rules_move(root, rules, self._plan.mind, WEIGHTS)
            return Decision(Move.from_words(int(main), int(kickers)))
        arms = self._arms(view)
        if len(arms.order) > 1:
            self._compare(
                view, arms, inferred_pool(view, rng, self.particles), np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
            )
        return _decision(arms)

    def _arms(self, view: View) -> Arms:
        mains, kickers = np.zeros(self.candidates, np.uint64), np.zeros(self.candidates, np.uint64)
        count = list_candidates(view.row, view.rule_words, self._plan.mind, mains, kickers, self._scores)
        return new_arms(mains[:count], kickers[:count])

    def _compare(self, view: View, arms: Arms, pool: Pool, seed: np.uint64) -> None:
        """Sequential halving over a budget of rollouts, or of time."""
        alive = len(arms.order)
        rounds = (alive - 1).bit_length()
        start, state = time.perf_counter(), np.uint64(key(seed, np.uint64(0)))
        for number in range(1, rounds + 1):
            worlds = max(1, self.iterations // (rounds * alive)) if self.milliseconds is None else 1
            stop = start + (self.milliseconds or 0.0) / 1000 * number / rounds
            while True:
                state = self._play(view, arms, alive, worlds, pool, state)
                if self.milliseconds is None or time.perf_counter() >= stop:
                    break
            alive = (alive + 1) // 2

    def _play(self, view: View, arms: Arms, alive: int, worlds: int, pool: Pool, state: np.uint64) -> np.uint64:
        row, seat, rules = view.row, view.seat, view.rule_words
        settings, plan, caution = self.settings, self._plan, self.caution
        return np.uint64(play_worlds(row, seat, rules, arms, alive, worlds, settings, pool, plan, caution, state))


def _decision(arms: Arms) -> Decision:
    """The best candidate, with the statistics by main group."""
    best = int(arms.order[0])
    move = Move.from_words(int(arms.mains[best]), int(arms.kickers[best]))
    visits: dict[int, int] = {}
    values: dict[int, float] = {}
    for arm in arms.order.tolist():
        main = int(arms.mains[arm])
        if main not in visits and arms.runs[arm]:
            visits[main] = int(arms.runs[arm])
            values[main] = float(arms.wins[arm] / arms.runs[arm])
    return Decision(move, visits, values, move.actions)
