"""OpenSpiel's algorithms on our game: exact best responses on ``micro``, and sampled CFR on Mini."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import numpy as np

from ddz_env.core.options import Range
from ddz_env.playing.registry import make_agent
from ddz_training.experiments import experiment as ex
from ddz_training.measure.statistics import wilson_interval
from ddz_training.measure.workers import Worker

# --- Exploitability: what a perfect opponent wins against our agents --------------------------------------------------
#
# Each agent moves in every information state that it can reach, which makes it a table; OpenSpiel then
# calculates what the best response to that table wins, and how near its own CFR and CFR+ come to an equilibrium.

MICRO = "python_ddz(rules=micro)"
SOLVERS = ("CFR 10", "CFR 100", "CFR+ 10", "CFR+ 100", "CFR+ 1000")
"""OpenSpiel's solvers with their numbers of iterations."""
AGENTS = (
    "random",
    "rules",
    "policy",
    "determinized-minimax",
    "determinized-minimax:inference=correct,opponent=determinized-minimax",
    "expectimax",
    "expectimax:inference=correct",
    "isuct:iterations=100",
    "isuct:iterations=1000",
    "isuct:iterations=10000",
    "neural-ismcts",
    "duct:iterations=200",
)
"""Agents that play two-player presets from what their seat sees."""


class ExploitResult(ex.Result):
    """What an agent can be sure of.

    Attributes:
        player: The agent, or the solver with its iterations.
        samples: How often it moved in each information state that it reaches; 0 for a solver, whose table is exact.
        player_1: Its return as player 1 against the best response.
        player_2: Its return as player 2 against the best response.
    """

    player: str
    samples: int
    player_1: Annotated[float, ".6f"]
    player_2: Annotated[float, ".6f"]

    @property
    def nash_conv(self) -> float:
        """What the best responses to both seats win together: 0 in an equilibrium."""
        return -self.player_1 - self.player_2  # the game is zero-sum


class ExploitOptions(ex.SeedOptions):
    """How the agents become tables.

    Attributes:
        samples: Moves of each agent in each information state that it reaches.
    """

    samples: Annotated[int, Range(1, 2**20)] = 25


@functools.cache
def _explored(name: str) -> tuple[Any, Any]:
    """A game as a tree, and its information states."""
    import pyspiel

    from ddz_env.peers.openspiel import policies

    game = pyspiel.load_game(name)
    return pyspiel.convert_to_cached_tree(game), policies.information_states(game)


def exploit(options: ExploitOptions, player: str) -> list[ExploitResult]:
    """What the best response wins against our agents on micro, and how near CFR comes to an equilibrium."""
    import pyspiel

    from ddz_env.peers.openspiel import policies

    (tree, situations), samples = _explored(MICRO), 0 if player in SOLVERS else options.samples
    if samples:
        policy = policies.tabular_policy(situations, make_agent(player), samples, options.seed)
    else:
        kind, _, iterations = player.partition(" ")
        solver = {"CFR": pyspiel.CFRSolver, "CFR+": pyspiel.CFRPlusSolver}[kind](tree)
        for _ in range(int(iterations)):
            solver.evaluate_and_update_policy()
        policy = solver.tabular_average_policy()
    responders = [pyspiel.TabularBestResponse(tree, 1 - seat, policy) for seat in (0, 1)]
    surest = [-float(responder.value_from_state(tree.new_initial_state())) for responder in responders]
    return [ExploitResult(player, samples, *surest)]


def exploitability_table(saved: ex.Saved[ExploitResult]) -> ex.Table:
    """Every player, the least exploitable first."""
    lines = [
        (
            f"`{result.player}`" if result.samples else f"{result.player} iterations",
            *(f"{worst:+.4f}" for worst in (result.player_1, result.player_2)),
            f"{result.nash_conv:.6f}" if result.nash_conv < 0.01 else f"{result.nash_conv:.3f}",
        )
        for result in sorted(saved.results, key=lambda result: result.nash_conv)
    ]
    header = ("player", "worst return as player 1", "as player 2", "NashConv")
    note = f"{saved.settings['samples']} questions in each information state that the agent reaches"
    return ex.Table("Exploitability on micro", header, lines, f"{note}; computed from {saved.name}.")


EXPLOITABILITY = ex.Experiment(
    "exploitability",
    exploit,
    "players",
    lambda options: [(player,) for player in (*SOLVERS, *AGENTS)],
    {"exploitability": exploitability_table},
    settings=("seed", "samples"),
    agents=lambda tasks: [player for (player,) in tasks if player not in SOLVERS],
)


# --- Outcome-sampling Monte Carlo CFR ---------------------------------------------------------------------------------
#
# Mini is too large for exact CFR.  The sampled kind learns from one game an iteration; its average policy then meets
# random play on both seats.

MINI = "python_ddz(rules=mini)"
ITERATIONS = (0, 1_000, 10_000, 100_000)
"""After how many iterations the average policy is tried; after none it is uniform."""


class MccfrResult(ex.Result):
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


class MccfrOptions(ex.SeedOptions):
    """How a policy is tried.

    Attributes:
        games: Games on each seat.
    """

    games: Annotated[int, Range(1, 2**20)] = 1_000


class Sampler(Worker[tuple[int], list[MccfrResult]]):
    """Outcome-sampling MCCFR on Mini: its average policy against random play."""

    def __init__(self, options: MccfrOptions) -> None:
        import pyspiel

        import ddz_env.peers.openspiel  # noqa: F401  # registers the game

        self._options, self._done = options, 0
        self._game = pyspiel.load_game(MINI)
        self._solver = pyspiel.OutcomeSamplingMCCFRSolver(self._game, seed=options.seed % 2**31)

    def play(self, task: tuple[int]) -> list[MccfrResult]:
        """Train on to a number of iterations, and try the policy."""
        (iterations,) = task
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


def mini_mccfr_table(saved: ex.Saved[MccfrResult]) -> ex.Table:
    """The rates of wins against random play."""
    lines = []
    for result in saved.results:
        rates = [wilson_interval(wins, result.games) for wins in (result.wins_1, result.wins_2)]
        lines.append((f"{result.iterations:,}", *(rate.both(to="–") for rate in rates)))
    header, games = ("iterations", "wins as player 1, %", "as player 2, %"), saved.settings["games"]
    note = f"{games:,} games a seat against random play, 95 % intervals (Wilson); computed from {saved.name}."
    return ex.Table("Outcome-sampling MCCFR on Mini", header, lines, note)


MINI_MCCFR = ex.Experiment(
    "mini-mccfr",
    Sampler,
    "policies",
    lambda options: [(iterations,) for iterations in ITERATIONS],
    {"mini-mccfr": mini_mccfr_table},
    settings=("seed", "games"),
    source="Lanctot, Waugh, Zinkevich and Bowling 2009; OpenSpiel's solver",
)
