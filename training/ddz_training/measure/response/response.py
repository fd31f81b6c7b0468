"""A response to a frozen agent: trained by self-play's trainer, chosen on some deals and reported on others.

The folder of a response holds what every run has (:mod:`ddz_training.learn.run`), and besides:

* ``own.csv``: the games of the agent against itself, on all deals;
* ``best.safetensors``: the strongest policy so far, by the gain on the deals that choose;
* ``report-UPDATE.csv``: its games on the deals that report, where UPDATE says when it was saved;
* ``report.json``: what they come to.

Whatever is killed continues: training from its checkpoint, games behind the last complete deal.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.network import NetworkPolicy
from ddz_agents.neural.weights import load_weights, save_weights
from ddz_env.core.rules import Rules
from ddz_env.core.whole_file import replace_file
from ddz_training.learn.curves import CurveLine
from ddz_training.learn.errors import CheckpointError, InvalidTrainingError
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.learn.run import Budget, Yardstick, train
from ddz_training.learn.strength import FIRST_DEAL, Evaluation, play_deals
from ddz_training.measure.match.duplicate import SIDES, GameRecord
from ddz_training.measure.match.results import OnProgress, no_progress
from ddz_training.measure.match.round_robin import Arena, run_arena
from ddz_training.measure.response.gains import Gain, measure_gains

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
        run: A run of :func:`~ddz_training.measure.response.start.response_config`, new or resumed.
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
        *(wins.mean, wins.low, wins.high, landlord.response.mean, peasants.response.mean),
        run.counters.decisions,
        *(end for gain in (chosen, landlord, peasants) for end in (gain.gain.mean, gain.gain.low, gain.gain.high)),
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
    _write(folder / REPORT, dataclasses.asdict(report))
    return report


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write plain values as JSON, replacing the file atomically."""
    replace_file(path, (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
