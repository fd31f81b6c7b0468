"""How strong every named agent is, with its default options: duplicate deals against the rule agent.

``ddz agents`` shows the win rates; :mod:`ddz_training.apps.strengths` joins them with those of larger experiments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Annotated

from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table, check_known
from ddz_training.experiments.matches import play_matches
from ddz_training.experiments.policy_strength import StrengthResult, strength_result, win_interval
from ddz_training.measure.match.duplicate import Match
from ddz_training.measure.match.results import OnProgress, no_progress

FIRST_DEAL = 9_000_000
"""Nothing was chosen on the deals from here on."""

OPPONENT = "rules"
FAST = (
    "random",
    "random-staged",
    "rules-without",
    "rules-tuned",
    "rlcard-rule",
    "policy",
    "policy-without",
)
SLOW = (
    "determinized-solver",
    "solver",
    "expectiminimax",
    "cheating-alpha-beta",
    "isuct",
    "isuct-moves",
    "isuct-redetermined",
    "duct",
    "cheating-uct",
    "rollout",
    "neural-ismcts",
)
"""All that play whole games under the standard rules and need no file or program of their own."""


@dataclass(frozen=True)
class AgentStrengthOptions(ParallelOptions):
    """What is played.

    Attributes:
        seed: Seed of deals and agents.
        only: Only this agent; may be repeated.
        deals: Duplicate deals of every agent; two games each.
        first_deal: Number of the first deal under the seed.
    """

    only: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] = 200
    first_deal: Annotated[int, Range(0)] = FIRST_DEAL


def run_agent_strength(
    options: AgentStrengthOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[StrengthResult]:
    """Let every agent play the rule agent; decisions are timed in processor time.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        InvalidExperimentError: If an agent is none of those that are measured.
        SettingsMismatchError: If the file was written with another seed.
    """
    names = options.only or (*FAST, *SLOW)
    check_known("agent", names, (*FAST, *SLOW))
    tasks = {
        (name, OPPONENT, deal): Match((name, OPPONENT), deal, (name, OPPONENT))
        for name in names
        for deal in range(options.first_deal, options.first_deal + options.deals)
    }
    settings = {"experiment": "agent-strength", "seed": options.seed}
    return play_matches(
        StrengthResult, strength_result, Rules(), tasks, settings, options.processes, path, on_progress, processor=True
    )


def by_agent(results: Sequence[StrengthResult]) -> dict[str, list[StrengthResult]]:
    """The deals of each agent against the rule agent."""
    found: dict[str, list[StrengthResult]] = {}
    for result in results:
        if result.opponent == OPPONENT:
            found.setdefault(result.agent, []).append(result)
    return found


def agent_strength_table(saved: Saved[StrengthResult]) -> Table:
    """The agents, the strongest first."""
    lines = [
        (f"`{agent}`", f"{len(own):,}", win_interval(own).both(to="–"), f"{median(line.ms for line in own):.3g}")
        for agent, own in sorted(by_agent(saved.results).items(), key=lambda item: -win_interval(item[1]).mean)
    ]
    note = f"Duplicate deals from number {FIRST_DEAL:,} on under seed {saved.settings['seed']}; {saved.name}."
    return Table("Named agents against `rules`", ("agent", "deals", "win %", "ms a decision"), lines, note)


AGENT_STRENGTH = Experiment(
    name="agent-strength",
    source="own",
    about="Play every named agent, with its default options, against the rule agent.",
    unit="deals",
    options=AgentStrengthOptions,
    result=StrengthResult,
    run=run_agent_strength,
    tables={"strengths-of-agents": agent_strength_table},
    file="agent_strength",
)
