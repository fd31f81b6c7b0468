"""How the shipped policy climbs: a run begins with it, is judged on duplicate deals, and ships if it is better.

A candidate ships if it beats the shipped policy with 95 % confidence and is not worse, with the same confidence,
against the rivals that neither was trained on.  Each judgement is a line of a table, even if nothing ships; git keeps
the earlier policies.
"""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_env.core.whole_file import replace_file
from ddz_env.playing.provenance import file_digest
from ddz_training.learn.loop import CHECKPOINT
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.selfplay import SelfPlay
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.statistics import Interval, normal_interval, paired_difference, wins_by_deal
from ddz_training.measure.store import OnProgress, no_progress

FIRST_DEAL = 400_000
"""Training deals its own cards, and its evaluations play deals from 1,000,000 on."""

RECIPE: dict[str, Any] = {
    "num_games": 1024,
    "steps": 128,
    "epochs": 1,
    "minibatch": 4096,
    "learning_rate": 4e-4,
    "final_learning_rate": 0.05,
    "settled_share": 0.125,
    "lam": 0.95,
    "entropy": 0.03,
    "final_entropy": 0.002,
    "average": 0.99,
}
"""The settings of a run: the campaign's, with more entropy at the start."""


class Rival(NamedTuple):
    """An opponent of a candidate.

    Attributes:
        agent: Its specification.
        deals: Duplicate deals.
        binding: Whether a candidate that is worse against it does not ship.
    """

    agent: str
    deals: int
    binding: bool = True


RIVALS = (
    Rival("policy", 10_000),
    Rival("policy-v1", 10_000, binding=False),  # how far all of them have come
    Rival("rlcard-rule", 10_000),
    Rival("rules", 10_000, binding=False),  # the first shipped policy was trained against it
    Rival("rollout:iterations=200", 600),
    Rival("isuct:iterations=10000", 300),
)
"""The shipped policy first."""


@dataclass(frozen=True)
class Judgement:
    """How a candidate did against a rival.

    Attributes:
        rival: The rival.
        wins: The candidate's win rate.
        gain: How much more it wins than the shipped policy on the same deals.
    """

    rival: Rival
    wins: Interval
    gain: Interval

    @property
    def passed(self) -> bool:
        """Whether this result lets the candidate ship."""
        if self.rival.agent == "policy":
            return self.gain.low > 0.0
        return not self.rival.binding or self.gain.high >= 0.0


def begin(folder: Path, settings: Mapping[str, Any], threads: int | None = None) -> SelfPlay:
    """The run of a folder, resumed, or a new one that begins with the shipped policy.

    Args:
        folder: Its folder.
        settings: Settings that differ from :data:`RECIPE`.
        threads: Threads; None for one a core.
    """
    checkpoint, chosen = folder / CHECKPOINT, {**RECIPE, **settings}
    if checkpoint.exists():
        return SelfPlay.resume(checkpoint, threads, chosen)
    start = load_weights(shipped_policy_path())
    return SelfPlay(SelfPlayConfig(architecture=start.architecture).changed(chosen), threads, start)


def judge(
    candidate: Path,
    folder: Path,
    rivals: Sequence[Rival] = RIVALS,
    processes: int = 1,
    on_progress: OnProgress = no_progress,
) -> list[Judgement]:
    """Play a candidate and the shipped policy against the rivals.

    Args:
        candidate: The weights of a policy.
        folder: Where the games are kept, a file a match; games that are there are not played again.
        rivals: The shipped policy and others.
        processes: Worker processes.
        on_progress: Called with how many deals are played, of how many.
    """
    total, done = sum(2 * rival.deals for rival in rivals) - rivals[0].deals, 0
    found = list[Judgement]()
    for rival in rivals:
        shares = list[dict[int, float]]()
        for name, spec in (("candidate", f"policy:path={candidate}"), ("shipped", "policy")):
            if spec == rival.agent:
                shares.append(dict.fromkeys(shares[0], 0.5))
                continue
            arena = Arena((spec, rival.agent), names=(name, rival.agent), timing=False)
            played = file_digest(candidate) if name == "candidate" else name
            file = folder / f"{played}-v-{re.sub('[^a-z]+', '-', rival.agent)}.csv"
            games = run_arena(
                arena,
                rival.deals,
                first_deal=FIRST_DEAL,
                processes=processes,
                store=arena.store(file, resume=True),
                on_progress=functools.partial(_report, on_progress, done, total),
            )
            shares.append(wins_by_deal(games, name))
            done += rival.deals
        wins = normal_interval([*shares[0].values()])
        found.append(Judgement(rival, wins, paired_difference(*shares)))
    return found


def _report(on_progress: OnProgress, before: int, total: int, played: int, _: int) -> None:
    on_progress(before + played, total)


def write_line(table: Path, candidate: Path, found: Sequence[Judgement]) -> None:
    """Add the line of a judgement to a table, a CSV file; one that is there already is replaced.

    Args:
        table: The file.
        candidate: The weights of a policy.
        found: How it did.
    """
    notes = load_weights(candidate).notes
    line = {
        "weights": file_digest(candidate),
        "against": file_digest(shipped_policy_path()),
        "decisions": notes.get("decisions", ""),
        "hours": notes.get("hours", ""),
        **{one.rival.agent: one.wins.both(to="–") for one in found},
        **{f"gain v {one.rival.agent}": one.gain.both("+.1f", to=" to ") for one in found[1:]},
        "may ship": "yes" if all(one.passed for one in found) else "no",
    }
    lines = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))) if table.exists() else []
    kept = [one for one in lines if (one["weights"], one["against"]) != (line["weights"], line["against"])]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(line), lineterminator="\n")
    writer.writeheader()
    writer.writerows([*kept, line])
    replace_file(table, text.getvalue().encode())


def ship(candidate: Path) -> None:
    """Let a candidate be the shipped policy of this checkout."""
    replace_file(shipped_policy_path(), candidate.read_bytes())
