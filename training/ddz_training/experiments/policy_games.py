"""Games of the policy with itself: what searches would gain in them, and whether the chances that people see come true.

*Search gains*: at every decision that the policy has not settled, each search chooses what it would play instead,
from the view of the seat to act.  What the search's move and the policy's are worth is then counted where nothing is
hidden: in games that all seats play on from the same deal as the policy draws.  The deal played is a draw from
everything that the seat could not distinguish, so the mean gain is what the search's move wins there if all goes on by
the policy.  Added up over a game, half of it predicts what the search would win over both sides of a duplicate deal; it
is only a prediction, for no decision follows from another.  Every search sees the same decisions, and
no move is charged with the luck of the game around it: differences show after far fewer games than a match takes.

*Chances*: at some decisions of every game the judge (:mod:`ddz_agents.neural_search.judge`) values the move that is
then played, from what its seat knows; the game says who won.  The map from the critic's means to chances is fitted on
the games with even numbers, and the table counts those with odd ones.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.loading import load_policy
from ddz_agents.neural.model import Bytes, Floats, PolicyModel
from ddz_agents.neural.shipped import policy_name
from ddz_agents.neural_search.descent import new_descents
from ddz_agents.neural_search.judge import SHIPPED, WORLDS, Calibration, Judge, LogOddsCurve, curve_inputs
from ddz_agents.neural_search.leaves import play_on, write_results
from ddz_env import Rules, State
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.engine.layout import SEAT
from ddz_env.core.observation import action_mask, observe
from ddz_env.core.view import legal_ids
from ddz_env.playing.agent import sight
from ddz_env.playing.generators import published_generator
from ddz_training.experiments import experiment as ex
from ddz_training.experiments.strengths import shipped_fingerprint
from ddz_training.measure.duplicate import SIDES
from ddz_training.measure.errors import InvalidExperimentError
from ddz_training.measure.keeper import AgentKeeper, check_agents
from ddz_training.measure.plotting import Panel, Series, save_plot
from ddz_training.measure.statistics import normal_interval, paired_difference, within
from ddz_training.measure.store import Key
from ddz_training.measure.timing import thinking_time

SEARCHES = ("neural-ismcts", "neural-ismcts:particles=256", "neural-ismcts:particles=0")
"""The default, and more and fewer worlds."""
BUDGETS = (
    "neural-ismcts:iterations=15,particles=4",
    "neural-ismcts:iterations=60,particles=16",
    "neural-ismcts:iterations=250,particles=32",
    "neural-ismcts",
    "neural-ismcts:iterations=4000,particles=256",
)
"""The default search with less time and with more, a factor of four apart: the line of the plot."""
SETTLED = 0.98
"""Decisions where the policy gives a move at least this probability are skipped."""


class GainResult(ex.Result):
    """What a search would have changed in one game of the policy against itself.

    Attributes:
        agent: Specification of the search.
        game: The game's number under the seed.
        decisions: Decisions looked at.
        changed: Those at which the search plays another main group.
        landlord: The sum of what that changes in the chance of winning, at decisions of the landlord.
        peasants: The same at decisions of the peasants.
        ms: Milliseconds of all these decisions.
    """

    agent: str
    game: int
    decisions: int
    changed: int
    landlord: float
    peasants: float
    ms: float


class _Drawing:
    """A policy whose likeliest action is a draw from it (the Gumbel-max trick)."""

    def __init__(self, model: PolicyModel, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng

    def evaluate(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Floats]:
        logs, values = self._model.evaluate(observations, masks)
        return logs + self._rng.gumbel(size=logs.shape).astype(np.float32), values


def worth(model: PolicyModel, state: State, action: int, playouts: int, rng: np.random.Generator) -> float:
    """The chance of the seat to act, in this deal, if it takes an action and then all seats draw from the policy.

    Args:
        model: The policy.
        state: The game, nothing hidden.
        action: The action.
        playouts: Games that are played on.
        rng: The generator.
    """
    games = new_descents(playouts)
    games.rows[:], games.rings[:], games.waits[:] = state.row, state.ring, 1
    logs = np.full((playouts, NUM_ACTIONS), -np.inf, np.float32)
    logs[:, action] = 0.0
    seats, values = games.rows[:, SEAT].copy(), np.empty(playouts, np.float32)
    play_on(_Drawing(model, rng), games, logs, 10**9, state.rule_words)
    assert not games.waits.any(), "a game has no end"
    write_results(games, seats, values)
    return float((1.0 + values.mean()) / 2.0)


class GainWorker(AgentKeeper):
    """What the decisions of the search over the policy are worth in the deals that are really played."""

    def __init__(self, options: GainOptions) -> None:
        super().__init__(timed=Rules())
        self._seed, self._playouts, self._model = options.seed, options.playouts, load_policy(None)
        self._decisions = functools.lru_cache(maxsize=1)(self._play_game)
        self._value = functools.lru_cache(maxsize=1024)(self._play_on)

    def play(self, task: tuple[str, int]) -> list[GainResult]:
        """What a search changes in a game."""
        spec, game = task
        agent, decisions = self.agent(spec), self._decisions(game)
        changed, seconds, gains = 0, 0.0, {True: 0.0, False: 0.0}
        for place, (state, own) in enumerate(decisions):
            seen, rng = sight(agent, state), published_generator([self._seed, game, place])
            began = thinking_time()
            action = agent.act(seen, rng).main
            seconds += thinking_time() - began
            if action != own:
                changed += 1
                gain = self._value(game, place, action) - self._value(game, place, own)
                gains[state.role() == "landlord"] += gain
        return [GainResult(spec, game, len(decisions), changed, gains[True], gains[False], round(1000 * seconds, 1))]

    def _play_game(self, game: int) -> list[tuple[State, int]]:
        """Play a game by the policy's likeliest moves; the decisions not settled, and what it does there."""
        state, agent, rng = State.new(self._seed, game=game), ModelAgent(self._model), np.random.default_rng(0)
        found = []
        while not state.is_over:
            logs, _ = self._model.evaluate(observe(state)[None], action_mask(state)[None])
            move = agent.act(state.view(), rng)
            if logs.max() < math.log(SETTLED):
                found.append((state.copy(), move.main))
            state.step(move)
        return found

    def _play_on(self, game: int, place: int, action: int) -> float:
        """The chance of the seat at one of the decisions of a game if it takes an action."""
        rng = np.random.default_rng([self._seed, game, place, 1 + action])
        return worth(self._model, self._decisions(game)[place][0], action, self._playouts, rng)


class GainOptions(ex.ParallelOptions):
    """Whose decisions are valued, and how.

    Attributes:
        agent: A search to value; may be repeated; the others are compared with the first.
        games: Games of the policy against itself.
        playouts: Games played to the end to value a move.
    """

    agent: tuple[str, ...] | None = None
    games: ex.Count = 100
    playouts: ex.Count = 64

    def check(self) -> None:
        """Refuse a search that is given twice."""
        if self.agent is not None and (not self.agent or len(set(self.agent)) < len(self.agent)):
            raise InvalidExperimentError(f"agent={list(self.agent)} must be one or more, each once")


def _games(options: GainOptions) -> list[Key]:
    agents = options.agent or SEARCHES
    check_agents(agents)
    return [(spec, game) for game in range(options.games) for spec in agents]


def predicted(result: GainResult) -> float:
    """Half of what both sides gain in a game, in points of win rate."""
    return 50.0 * (result.landlord + result.peasants)


def milliseconds(own: Sequence[GainResult]) -> float:
    """Milliseconds a decision in the median game: other work on the machine slows some games down, not that one."""
    return median([result.ms / result.decisions for result in own if result.decisions] or [0.0])


def gain_table(saved: ex.Saved[GainResult]) -> ex.Table:
    """A line a search, those of ``SEARCHES`` and ``BUDGETS`` first: gains in points of win rate.

    ``landlord`` and ``peasants`` are a game's mean gains of one side; ``both`` is half of their sum, what is predicted
    for a duplicate deal; the last column compares with the first search on the games that both have looked at.  These
    two have 95 % intervals over games.
    """
    lines, first = [], dict[int, float]()
    for agent, own in ex.grouped(saved.results, "agent", order=(*SEARCHES, *BUDGETS)).items():
        decisions, changed = sum(result.decisions for result in own), sum(result.changed for result in own)
        sides = [normal_interval([100 * getattr(result, side) for result in own]) for side in SIDES]
        gains = {result.game: predicted(result) for result in own}
        counts = f"{len(own):,}", f"{decisions:,}", f"{100 * changed / max(1, decisions):.1f}"
        both = normal_interval([*gains.values()]).both("+.1f", 1)
        over = paired_difference(gains, first).both("+.1f", 1) if first else ""
        cells = f"{milliseconds(own):.0f}", *(side.text("+.1f", 1) for side in sides), both, over
        lines.append((f"`{agent}`", *counts, *cells))
        first = first or gains
    header = ("search", "games", "decisions", "changed %", "ms", "landlord", "peasants", "both", "over the first")
    settings = saved.settings
    note = f"{saved.name}, seed {settings['seed']}, {settings['playouts']} games to value a move"
    note += f"; the weights are `{policy_name(settings['weights'])}`."
    return ex.Table("Gains over the policy, points of win rate", header, lines, note)


def plot_gains(saved: ex.Saved[GainResult], path: Path) -> None:
    """Gains by time a decision: a line for the default search's budgets, dots for other searches."""
    groups = ex.grouped(saved.results, "agent")
    series = []
    for label, kind, specs in (
        ("the default search's budgets", "line", [spec for spec in BUDGETS if spec in groups]),
        ("other searches", "points", [spec for spec in groups if spec not in BUDGETS]),
    ):
        gains = [normal_interval([predicted(result) for result in groups[spec]]) for spec in specs]
        series.append(Series(label, [milliseconds(groups[spec]) for spec in specs], gains, kind, scale=1))
    below, beside = "milliseconds a decision that is not settled", "gain over the policy, points"
    save_plot(path, Panel(series, below, beside, across={"": 0}, axes={"xscale": "log"}))


SEARCH_GAINS = ex.Experiment(
    "search-gains",
    GainWorker,
    "games of a search",
    _games,
    {"search-gains": gain_table},
    settings=("seed", "playouts"),
    more=lambda options: {"weights": shipped_fingerprint()},
    agents=lambda tasks: dict.fromkeys(spec for spec, _ in tasks),
    plot=plot_gains,
)


# --- Chances of winning -----------------------------------------------------------------------------------------------

FIRST_DEAL = 7_000_000
TENTHS = 10
_GAME, _CHOICE, _WORLDS = range(3)
"""What a generator is for."""
_STEPS, _DIGITS = 25, 3
"""Of Newton's method, and of what it has found."""


class ChanceOptions(ex.ParallelOptions):
    """Which games are played.

    Attributes:
        seed: Seed of deals, decisions and worlds.
        games: How many games.
        decisions: Decisions of each game that are looked at, at most.
    """

    games: ex.Count = 4000
    decisions: ex.Count = 3


class ChanceResult(ex.Result):
    """A decision between several moves.

    Attributes:
        deal: Number of the deal.
        number: Number of the move that was played.
        landlord: Whether the landlord moved, 0 or 1.
        mean: The critic's mean after the move, 0 to 1.
        won: Whether the mover's side won, 0 or 1.
    """

    deal: int
    number: int
    landlord: int
    mean: Annotated[float, ".4f"]
    won: int


@functools.cache
def _player() -> tuple[ModelAgent, Judge]:
    model = load_policy()
    return ModelAgent(model), Judge(model)


def play_and_judge(options: ChanceOptions, deal: int) -> list[ChanceResult]:
    """Whether the chances of winning that ddz web shows are borne out, in games of the policy with itself."""
    (agent, judge), seed, rng = _player(), options.seed, published_generator
    state, moments = State.new(seed, game=deal), []
    while not state.is_over:
        view = state.view()
        move = agent.act(view, rng([seed, deal, _GAME]))  # the likeliest: it draws nothing
        if len(legal_ids(state.row, state.rule_words)) > 1:
            moments.append((len(state.history), view, move))
        state.step(move)
    returns = state.returns()
    count = min(options.decisions, len(moments))
    chosen = sorted(rng([seed, deal, _CHOICE]).choice(len(moments), count, replace=False).tolist())
    lines = []
    for number, view, move in (moments[place] for place in chosen):
        mean = float(judge.means(view, [move], rng([seed, deal, _WORLDS, number]))[0])
        lines.append(ChanceResult(deal, number, int(view.seat == view.landlord), mean, int(returns[view.seat] > 0)))
    return lines


def fitted(means: npt.NDArray[np.float64], won: npt.NDArray[np.bool_]) -> LogOddsCurve:
    """The curve under which the games that were won are likeliest (Newton's method for a logistic regression).

    Args:
        means: The critic's, shape ``[n]``.
        won: Whether the game was won, shape ``[n]``.
    """
    open_ones = (means > 0) & (means < 1)
    inputs, wins, weights = curve_inputs(means[open_ones]), won[open_ones].astype(np.float64), np.zeros(3)
    for _ in range(_STEPS):
        chances = 1 / (1 + np.exp(-inputs @ weights))
        curvature = (inputs * (chances * (1 - chances))[:, None]).T @ inputs
        weights += np.linalg.solve(curvature, inputs.T @ (wins - chances))
    return LogOddsCurve(*(round(float(weight), _DIGITS) for weight in weights))


def fit(results: Sequence[ChanceResult]) -> Calibration:
    """The map that the games with even numbers give."""
    sides = ([one for one in results if one.deal % 2 == 0 and one.landlord == side] for side in (0, 1))
    return Calibration(
        *(fitted(np.array([one.mean for one in side]), np.array([one.won for one in side], np.bool_)) for side in sides)
    )


def given_and_won(results: Sequence[ChanceResult], calibration: Calibration = SHIPPED) -> list[list[tuple[float, int]]]:
    """The chances given in the games with odd numbers and whether these were won, in ten parts by the chance."""
    odd = [result for result in results if result.deal % 2]
    given = [float(calibration[one.landlord].chances(np.array([one.mean]))[0]) for one in odd]
    tenths: list[list[tuple[float, int]]] = [[] for _ in range(TENTHS)]
    for chance, one in zip(given, odd, strict=True):
        tenths[min(int(chance * TENTHS), TENTHS - 1)].append((chance, one.won))
    return tenths


def chances_table(saved: ex.Saved[ChanceResult]) -> ex.Table:
    """The chances given beside the games won."""
    lines = []
    for place, part in enumerate(given_and_won(saved.results)):
        if part:
            given, won = 100 * fmean(chance for chance, _ in part), [float(one) for _, one in part]
            rate = within(normal_interval(won), 0.0, 1.0)
            name = f"{100 * place // TENTHS}–{100 * (place + 1) // TENTHS}"
            lines.append((name, f"{len(part):,}", f"{given:.1f}", rate.both(to="–"), f"{100 * rate.mean - given:+.1f}"))
    note = f"Games with odd numbers; the map was fitted on those with even ones. Computed from {saved.name}."
    header = ("chance given, %", "positions", "its mean", "games won, %", "difference")
    return ex.Table("Chances of winning, given and found", header, lines, note)


CHANCES = ex.Experiment(
    "chances",
    play_and_judge,
    "games",
    lambda options: [(deal,) for deal in range(FIRST_DEAL, FIRST_DEAL + options.games)],
    {"chances": chances_table},
    settings=("seed", "decisions"),
    more=lambda options: {"worlds": WORLDS, "weights": shipped_fingerprint()},
    agents=("policy",),
)
