"""A response to a frozen agent: trained by self-play's trainer, chosen on some deals and reported on others.

The folder of a response holds what every run has (:mod:`ddz_training.learn.run`), and besides:

* ``own.csv``: the games of the agent against itself, on all deals;
* ``best.safetensors``: the strongest policy so far, by the gain on the deals that choose;
* ``report-UPDATE.csv``: its games on the deals that report, where UPDATE says when it was saved;
* ``report.json``: what they come to.

Whatever is killed continues: training from its checkpoint, games behind the last complete deal.

A *gain* is what a response wins against the agent over what the agent itself wins there, on the same duplicate deals.
The agent's own rate is that against itself: on every deal it is the landlord against its own peasants, once for each
game of the deal.  A response that is no better than the agent gains nothing, however easy the deals are for one side.
Over both sides the agent's own rate is one half on every deal.
"""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ddz_agents.neural.agent import ModelAgent, PolicyAgent, PolicyOptions
from ddz_agents.neural.architecture import Architecture
from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_env.core.rules import Rules
from ddz_env.core.whole_file import replace_file
from ddz_env.playing.registry import read_agent
from ddz_training.learn.curves import CurveLine
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.run import EVALUATIONS, Budget, Yardstick, train
from ddz_training.learn.strength import FIRST_DEAL, Evaluation, play_deals
from ddz_training.measure.match import statistics
from ddz_training.measure.match.duplicate import SIDES, GameRecord, check_agents
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.round_robin import Arena, run_arena
from ddz_training.measure.match.statistics import Interval
from ddz_training.measure.plotting import BLUE, ORANGE, PAPER, finish_figure, new_axes

STARTS = ("own", "shipped", "scratch")
"""What a response may start from, besides a file of weights."""


def own_weights(agent: str) -> Path | None:
    """The weights that an agent plays by, where it is ``policy`` and they are of this package; None of any other."""
    factory, options = read_agent(agent)
    if factory is not PolicyAgent:
        return None
    (path,) = PolicyOptions.of(**options).files()
    return path if path.suffix == shipped_policy_path().suffix else None


def starting_path(agent: str, start: str | None = None) -> Path | None:
    """The weights that a response starts from.

    Args:
        agent: The agent that it is trained against.
        start: One of :data:`STARTS` or a file; by default ``own`` where the agent has weights, else ``shipped``.

    Returns:
        The file; None for random weights.

    Raises:
        InvalidTrainingError: If the agent has no weights to start from.
        UnknownAgentError: If it does not exist.
    """
    own = own_weights(agent)
    if start == "scratch":
        return None
    if start == "shipped" or (start is None and own is None):
        return shipped_policy_path()
    if start not in (None, "own"):
        return Path(start)
    if own is None:
        raise InvalidTrainingError(f"{agent!r} has no weights to start from: start from shipped, scratch or a file")
    return own


def response_config(agent: str, start: Weights | None, settings: dict[str, Any]) -> SelfPlayConfig:
    """The settings of a response's training.

    Args:
        agent: The agent.
        start: What it starts from.
        settings: What is changed.

    Raises:
        InvalidTrainingError: If a setting is out of range, or the rules have an auction.
        UnknownAgentError: If the agent does not exist.
    """
    check_agents((agent,))
    architecture = Architecture() if start is None else start.policy.architecture
    recipe = SelfPlayConfig(
        architecture=architecture,
        frozen=(agent,),
        frozen_share=1.0,
        opponents=(agent,),
        opponent_share=0.0,
        minibatch=2048,
        average=0.98,
        critic_updates=0 if start is None else 10,
        evaluate_every=50,
        evaluate_deals=500,
    )
    config = recipe.changed(settings)
    if Rules.preset(config.rules).bidding != "fixed":
        raise InvalidTrainingError(
            f"a response plays one side, and under the {config.rules} rules an auction decides it"
        )
    if not config.evaluate_every:
        raise InvalidTrainingError("evaluate_every=0 would choose no response: say after how many updates to measure")
    if config.frozen != (agent,) or config.opponents != (agent,):
        raise InvalidTrainingError("a response meets the agent that it is trained against: leave frozen and opponents")
    return config


BOTH = "either"
"""The side of a response that was trained for both, as in :class:`ddz_training.learn.ppo.config.SelfPlayConfig`."""


@dataclass(frozen=True)
class Gain:
    """What a response wins on one side, or over both.

    Attributes:
        side: ``landlord``, ``peasants`` or ``either``.
        response: The response's win rate: Wilson's interval on one side, paired by deal over both.
        own: The agent's own, paired by deal.
        gain: The first less the second, paired by deal.
    """

    side: str
    response: Interval
    own: Interval
    gain: Interval


def sides_of(learner_side: str) -> tuple[str, ...]:
    """The sides that a response is measured on, the one that it is chosen by first.

    Example:
        >>> sides_of("either"), sides_of("peasants")
        (('either', 'landlord', 'peasants'), ('peasants',))
    """
    return (BOTH, *SIDES) if learner_side == BOTH else (learner_side,)


def measure_gains(
    response: Sequence[GameRecord], own: Sequence[GameRecord], learner_side: str = BOTH
) -> tuple[Gain, ...]:
    """What a response gains, for each side of :func:`sides_of`.

    Args:
        response: The games of the response (A) and the agent (B) on complete deals with a fixed landlord.
        own: The games of the agent and itself on the same deals.
        learner_side: The side that the response was trained for.
    """
    won = {deal: statistics.won_by_side(games)[2] for deal, games in statistics.by_deal(response).items()}
    landlord = {
        deal: fmean(record.winner == SIDES[0] for record in games)
        for deal, games in statistics.by_deal(own).items()
        if deal in won
    }
    return tuple(_gain(side, won, landlord) for side in sides_of(learner_side))


def _gain(side: str, won: dict[int, tuple[int, int]], landlord: dict[int, float]) -> Gain:
    """The gain on one side, from what the response won on each deal and what the agent's own landlord did."""
    places = {SIDES[0]: (0,), SIDES[1]: (1,), BOTH: (0, 1)}[side]
    rates = {deal: fmean(won[deal][place] for place in places) for deal in landlord}
    owns = {deal: fmean((rate, 1 - rate)[place] for place in places) for deal, rate in landlord.items()}
    paired = statistics.within(statistics.normal_interval([*rates.values()]), 0.0, 1.0)
    return Gain(
        side,
        paired if side == BOTH else statistics.wilson_interval(sum(rates.values()), len(rates)),
        statistics.within(statistics.normal_interval([*owns.values()]), 0.0, 1.0),
        statistics.paired_difference(rates, owns),
    )


REPORT_DEAL = 2 * FIRST_DEAL
"""The first deal of reports; those from ``FIRST_DEAL`` on choose."""

OWN, BEST, REPORT = "own.csv", "best.safetensors", "report.json"
RESPONSE = "response"
"""What files of games call it."""


@dataclass(frozen=True)
class GainLine(Evaluation):
    """What a response gained on the deals that choose, a line of ``evaluations.csv``.

    Attributes:
        decisions: Decisions learned from before it.
        gain: What it wins over the agent's own rate, on its side or over both.
        gain_low: Lower end of its 95 % interval.
        gain_high: Upper end.
        landlord_gain: The same as landlord.
        landlord_low: Likewise.
        landlord_high: Likewise.
        peasants_gain: The same as peasants.
        peasants_low: Likewise.
        peasants_high: Likewise.
    """

    decisions: int = 0
    gain: float = 0.0
    gain_low: float = 0.0
    gain_high: float = 0.0
    landlord_gain: float = 0.0
    landlord_low: float = 0.0
    landlord_high: float = 0.0
    peasants_gain: float = 0.0
    peasants_low: float = 0.0
    peasants_high: float = 0.0


@dataclass(frozen=True)
class ExploitReport:
    """What a response wins.

    Attributes:
        agent: The agent that it was trained against.
        rules: The preset.
        seed: Seed of training and deals.
        update: The update after which the response was saved.
        decisions: Decisions that it had learned from by then.
        deals: Duplicate deals of the report.
        first_deal: Number of the first.
        gains: The gain on each side, the one that the response was chosen by first.
    """

    agent: str
    rules: str
    seed: int
    update: int
    decisions: int
    deals: int
    first_deal: int
    gains: tuple[Gain, ...]


def own_games(
    config: SelfPlayConfig,
    folder: Path,
    deals: int,
    first_deal: int,
    processes: int = 1,
    on_progress: OnProgress = no_progress,
) -> list[GameRecord]:
    """The agent's games against itself; those that its file has are not played again.

    Args:
        config: The run's settings.
        folder: The run's folder.
        deals: How many deals.
        first_deal: Number of the first.
        processes: Worker processes.
        on_progress: Told how many deals are done.
    """
    (agent,) = config.frozen
    arena = Arena((agent, agent), Rules.preset(config.rules), config.seed, timing=False)
    store = arena.store(folder / OWN, resume=True)
    return run_arena(arena, deals, first_deal=first_deal, processes=processes, store=store, on_progress=on_progress)


def train_response(
    run: SelfPlay,
    folder: Path,
    budget: Budget,
    *,
    processes: int = 1,
    on_progress: OnProgress = no_progress,
    on_update: Callable[[CurveLine], None] | None = None,
    on_evaluation: Callable[[Sequence[Evaluation]], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train until the budget is spent, and keep the strongest policy.

    Args:
        run: A run of :func:`~ddz_training.measure.response.response.response_config`, new or resumed.
        folder: Its folder.
        budget: How long to train.
        processes: Worker processes for the agent's games against itself.
        on_progress: Told how many of these deals are done.
        on_update: As for :func:`ddz_training.learn.run.train`.
        on_evaluation: Likewise.
        stop: Likewise.

    Raises:
        InvalidTrainingError: If the run is no response.
        CheckpointError: As for :func:`ddz_training.learn.run.train`.
        InUseError: Likewise.
        AgentFaultError: If the agent fails in training.
        AgentFailedError: If it fails in an evaluation.
    """
    config = run.config
    if len(config.frozen) != 1:
        raise InvalidTrainingError(f"a response is trained against one agent, not {len(config.frozen)}")
    own = own_games(config, folder, config.evaluate_deals, FIRST_DEAL, processes, on_progress)

    def measure(run: SelfPlay, stop: Callable[[], bool]) -> list[GainLine]:
        model = ModelAgent(NetworkPolicy(run.policy))
        records = play_deals(model, config.frozen[0], config.evaluate_deals, config.rules, config.seed, stop=stop)
        if not records:
            return []
        line = _line(run, measure_gains(records, own), config.learner_side)
        _keep_best(run, folder / BEST, line.gain)
        return [line]

    yardstick = Yardstick(GainLine, measure, at_start=True)
    train(run, folder, budget, on_update=on_update, on_evaluation=on_evaluation, stop=stop, yardstick=yardstick)


def _line(run: SelfPlay, gains: tuple[Gain, ...], side: str) -> GainLine:
    by_side = {gain.side: gain for gain in gains}
    chosen, landlord, peasants = (by_side[name] for name in (side, *SIDES))
    wins = chosen.response
    return GainLine(
        run.counters.update,
        run.config.frozen[0],
        wins.count,
        *(*wins.ends, landlord.response.mean, peasants.response.mean),
        run.counters.decisions,
        *(end for gain in (chosen, landlord, peasants) for end in gain.gain.ends),
    )


def _keep_best(run: SelfPlay, path: Path, gain: float) -> None:
    """Save the policy if it gained more than the one that is there.

    A run that was killed is measured again as it was, so what the file holds is a policy of this run, too.
    """
    if path.exists() and run.counters.update and load_weights(path).notes["gain"] >= gain:
        return
    weights = run.weights()
    save_weights(path, dataclasses.replace(weights, notes={**weights.notes, "gain": gain}))


def report_response(
    config: SelfPlayConfig, folder: Path, deals: int, processes: int = 1, on_progress: OnProgress = no_progress
) -> ExploitReport:
    """Play the strongest policy of a run on deals that neither trained nor chose it, and write the report.

    Args:
        config: The run's settings.
        folder: Its folder.
        deals: How many deals.
        processes: Worker processes.
        on_progress: Told how many deals are done, of the agent's games against itself and then of the response's.

    Raises:
        CheckpointError: If there is no policy to report.
        AgentFailedError: If an agent cannot be made.
        InUseError: If another process plays them.
    """
    best, (agent,) = folder / BEST, config.frozen
    if not best.exists():
        raise CheckpointError(f"{best} is missing: no evaluation has chosen a response yet; train on with --resume")
    notes = load_weights(best).notes
    rules = Rules.preset(config.rules)
    own = own_games(config, folder, deals, REPORT_DEAL, processes, on_progress)
    arena = Arena((f"policy:path={best.resolve()}", agent), rules, config.seed, timing=False, names=(RESPONSE, agent))
    store = arena.store(folder / f"report-{notes['updates']}.csv", resume=True)
    records = run_arena(arena, deals, first_deal=REPORT_DEAL, processes=processes, store=store, on_progress=on_progress)
    gains = measure_gains(records, own, config.learner_side)
    counts = notes["updates"], notes["decisions"], deals, REPORT_DEAL
    report = ExploitReport(agent, config.rules, config.seed, *counts, gains)
    text = json.dumps(dataclasses.asdict(report), indent=2, ensure_ascii=False)
    replace_file(folder / REPORT, f"{text}\n".encode())
    return report


_COLORS = {BOTH: "black", SIDES[0]: BLUE, SIDES[1]: ORANGE}
_NAMES = {BOTH: "gain", SIDES[0]: "landlord", SIDES[1]: "peasants"}


def plot_response(folder: Path, report: ExploitReport, path: Path) -> None:
    """Draw the gains over the decisions learned from, and the report's beside the policy that it is of.

    Args:
        folder: The run's folder.
        report: The report.
        path: The picture.
    """
    lines = list(csv.DictReader((folder / EVALUATIONS).read_text(encoding="utf-8").splitlines()))
    where = [int(line["decisions"]) / 1e6 for line in lines]
    figure, axes = new_axes(7.0)
    axes.axhline(0, color="grey", linewidth=1, linestyle=":")
    for side in sides_of(report.gains[0].side):
        start = _NAMES[side]
        middle = "gain" if side == BOTH else f"{start}_gain"
        mean, low, high = (
            [100 * float(line[name]) for line in lines] for name in (middle, f"{start}_low", f"{start}_high")
        )
        label = "both sides" if side == BOTH else side
        axes.plot(where, mean, marker="o", markersize=3, color=_COLORS[side], label=label)
        axes.fill_between(where, low, high, alpha=0.15, color=_COLORS[side])
    gain = report.gains[0].gain
    axes.errorbar(
        report.decisions / 1e6, 100 * gain.mean, 100 * gain.half_width, capsize=3, label="report, other deals", **PAPER
    )
    below = "decisions learned from, millions"
    finish_figure(figure, axes, path, below, f"gain on {report.agent}, points (95 %)", loc="best")
