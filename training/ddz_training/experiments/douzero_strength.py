"""How strong the policy for DouZero's rules is, beside the one for the standard rules, on the same deals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ddz_agents.neural.shipped import shipped_douzero_path
from ddz_env import Rules
from ddz_env.core.options import Range
from ddz_env.playing.provenance import file_digest
from ddz_training.experiments.experiment import Experiment, ParallelOptions, Saved, Table
from ddz_training.experiments.matches import play_matches
from ddz_training.experiments.policy_strength import (
    POLICY,
    STRENGTH_HEADER,
    StrengthResult,
    strength_cells,
    strength_result,
)
from ddz_training.measure.match.duplicate import Match
from ddz_training.measure.match.results import OnProgress, no_progress

FIRST_DEAL = 8_000_000
RULES = "douzero"
AGENT = "policy:path=douzero"
OPPONENTS = {POLICY: 5000, "rules": 5000, "rlcard-rule": 2000, "random": 2000, "isuct:iterations=10000": 500}
"""Whom it meets, and on how many duplicate deals unless another number is asked for."""


@dataclass(frozen=True)
class DouzeroOptions(ParallelOptions):
    """What is played.

    Attributes:
        opponent: Whom the policies meet; may be repeated; by default five players.
        deals: Duplicate deals against each; 500 to 5,000 by default.
        first_deal: Number of the first deal under the seed.
    """

    opponent: tuple[str, ...] | None = None
    deals: Annotated[int, Range(1)] | None = None
    first_deal: Annotated[int, Range(0)] = FIRST_DEAL


def run_douzero_strength(
    options: DouzeroOptions, path: Path | None = None, on_progress: OnProgress = no_progress
) -> Saved[StrengthResult]:
    """Play both policies against others under DouZero's rules.

    Args:
        options: Who plays how many deals.
        path: Where to save, one line a deal; a file of an earlier run is resumed.
        on_progress: Told how many deals are done.

    Raises:
        UnknownAgentError: If an agent does not exist.
        SettingsMismatchError: If the file was written with other weights or another seed.
    """
    tasks = {
        (agent, opponent, deal): Match((agent, opponent), deal, (agent, opponent))
        for opponent in options.opponent or OPPONENTS
        for agent in (AGENT, POLICY)
        if agent != opponent
        for deal in range(options.first_deal, options.first_deal + (options.deals or OPPONENTS.get(opponent, 1000)))
    }
    settings = {
        "experiment": "douzero-strength", "rules": RULES, "seed": options.seed,
        "weights": file_digest(shipped_douzero_path()),
    }  # fmt: skip
    rules = Rules.preset(RULES)
    return play_matches(StrengthResult, strength_result, rules, tasks, settings, options.processes, path, on_progress)


DOUZERO_HEADER = tuple("ADP" if head == "score" else head for head in STRENGTH_HEADER[:-2])
"""Heads of the columns of :func:`douzero_table`: those of the strength, and what DouZero calls the score."""


def douzero_table(saved: Saved[StrengthResult]) -> Table:
    """A line for each of the two policies and each opponent."""
    first, settings = min(result.deal for result in saved.results), saved.settings
    note = (
        f"Duplicate deals from number {first:,} on under seed {settings['seed']}, rules `{settings['rules']}`, "
        f"{saved.name}; the weights are `{settings['weights']}`."
    )
    lines = [line[: len(DOUZERO_HEADER)] for line in strength_cells(saved.results)]
    return Table("Policies under DouZero's rules", DOUZERO_HEADER, lines, note)


DOUZERO_STRENGTH = Experiment(
    name="douzero-strength",
    source="own",
    about="What the policy that learned DouZero's rules wins under them, beside the policy of the standard rules.",
    unit="duplicate deals",
    options=DouzeroOptions,
    result=StrengthResult,
    run=run_douzero_strength,
    tables={"douzero-strength": douzero_table},
    file="douzero_strength",
)
