"""How the shipped policy climbs: a run begins with it, is judged on duplicate deals, and ships if it is better.

    python tools/climb.py --out runs/climb --minutes 60 --ship                 # train, judge, ship
    python tools/climb.py --out runs/judged --candidate run/policy.safetensors # judge these weights

A candidate ships if it beats the shipped policy with 95 % confidence and is not worse, with the same confidence,
against the rivals that neither was trained on.  Each judgement is a line of a table, even if nothing ships.  Training
and games are resumed.
"""

from __future__ import annotations

import argparse
import csv
import functools
import io
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ddz_agents.neural.compiled_policy import CompiledPolicy
from ddz_agents.neural.shipped import NEWEST, shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_env.batch import SelfPlayBatch
from ddz_env.support.atomic_files import replace_file
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.markdown import Table
from ddz_training.measure.provenance import digest_file
from ddz_training.measure.statistics import Interval, paired_difference, share_interval
from ddz_training.measure.store import OnProgress, ignore_progress
from ddz_training.measure.summaries import wins_by_deal

TABLE = Path(__file__).parents[1] / "docs" / "results" / "climb.csv"
FIRST_DEAL = 400_000
"""Training deals its own cards, and its evaluations play deals from 1,000,000 on."""

RECIPE = (
    "--num-envs 1024 --num-steps 128 --update-epochs 1 --minibatch 4096 --learning-rate 4e-4 --final-lr-factor 0.05 "
    "--settled-share 0.125 --gae-lambda 0.95 --ent-coef 0.03 --final-ent-coef 0.002 --ema-decay 0.99"
)
"""The settings of a run: the campaign's, with more entropy at the start."""

SAME_CHOICES, POSITIONS = 9_990, 10_000
"""A file is kept in half precision if it chooses the same action in at least so many of the positions."""


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


def train(folder: Path, minutes: float) -> Path:
    """Train from the shipped policy, or go on with the run of the folder; the policy that it leaves.

    Args:
        folder: The folder of the run.
        minutes: Minutes of training in total.
    """
    begun = (folder / "checkpoint.safetensors").exists()
    start = ["--resume"] if begun else ["--init", str(shipped_policy_path())]
    command = [sys.executable, "-m", "ddz_training", "train", "selfplay", "--out", str(folder), *start]
    subprocess.run([*command, "--minutes", f"{minutes:g}", *RECIPE.split()], check=True)
    return folder / "policy.safetensors"


def judge(
    candidate: Path,
    folder: Path,
    rivals: Sequence[Rival] = RIVALS,
    processes: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> list[Judgement]:
    """Play a candidate and the shipped policy against the rivals.

    Args:
        candidate: The weights of a policy.
        folder: Where the games are kept, one file per match; games that are there are not played again.
        rivals: The shipped policy and others.
        processes: Worker processes.
        on_progress: Called with how many deals are played, of how many.
    """
    total, done = sum(2 * rival.deals for rival in rivals) - rivals[0].deals, 0
    judgements = list[Judgement]()
    for rival in rivals:
        shares = list[dict[int, float]]()
        for name, spec in (("candidate", f"policy:path={candidate}"), ("shipped", "policy")):
            if spec == rival.agent:
                shares.append(dict.fromkeys(shares[0], 0.5))
                continue
            arena = Arena((spec, rival.agent), names=(name, rival.agent), timing=False)
            played = digest_file(candidate) if name == "candidate" else name
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
        wins = share_interval([*shares[0].values()])
        judgements.append(Judgement(rival, wins, paired_difference(*shares)))
    return judgements


def _report(on_progress: OnProgress, before: int, total: int, played: int, _: int) -> None:
    on_progress(before + played, total)


def write_line(table: Path, candidate: Path, judgements: Sequence[Judgement]) -> None:
    """Add the line of a judgement to a table, a CSV file; one that is there already is replaced.

    Args:
        table: The file.
        candidate: The weights of a policy.
        judgements: How it did.
    """
    notes = load_weights(candidate).notes
    line = {
        "weights": digest_file(candidate),
        "against": digest_file(shipped_policy_path()),
        "decisions": notes.get("decisions", ""),
        "hours": notes.get("hours", ""),
        **{judgement.rival.agent: judgement.wins.text_with_range(to="–") for judgement in judgements},
        **{
            f"gain v {judgement.rival.agent}": judgement.gain.text_with_range("+.1f", to=" to ")
            for judgement in judgements[1:]
        },
        "may ship": "yes" if all(judgement.passed for judgement in judgements) else "no",
    }
    lines = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8")))) if table.exists() else []
    kept = [row for row in lines if (row["weights"], row["against"]) != (line["weights"], line["against"])]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(line), lineterminator="\n")
    writer.writeheader()
    writer.writerows([*kept, line])
    replace_file(table, text.getvalue().encode())


def same_choices(first: Weights, second: Weights) -> int:
    """In how many of the positions, all with a choice and of random games, two policies choose the same action."""
    batch, players = SelfPlayBatch(500, seed=20, threads=1), (CompiledPolicy(first), CompiledPolicy(second))
    seen = same = 0
    while seen < POSITIONS:
        rows = np.flatnonzero(np.count_nonzero(batch.mask, axis=1) > 1)[: POSITIONS - seen]
        logs = [player.evaluate(batch.observation[rows], batch.mask[rows])[0] for player in players]
        same += int(np.count_nonzero(logs[0].argmax(axis=1) == logs[1].argmax(axis=1)))
        seen += len(rows)
        for _ in range(3):
            batch.step(batch.sample_actions())
    return same


def keep(path: Path, weights: Weights) -> None:
    """Write weights in half precision, or as they are if that changes what they choose."""
    save_weights(path, weights, half=True)
    if same_choices(weights, load_weights(path)) < SAME_CHOICES:
        save_weights(path, weights)


def ship(candidate: Path) -> str:
    """Let a candidate be the newest policy of this checkout, and cut the one before to what plays.

    Args:
        candidate: The weights of a policy.

    Returns:
        What is left to be done by hand.
    """
    before, weights = shipped_policy_path(), load_weights(candidate)
    name = f"policy-v{int(NEWEST.rpartition('v')[2]) + 1}"
    keep(before.with_name(f"{name}.safetensors"), weights)
    keep(before, replace(load_weights(before), critic=None))
    return (
        f"{name} lies beside the others. Name it with its digests in POLICIES of ddz_agents/neural/shipped "
        f"({digest_file(candidate)}, and those of both files now), "
        "in ddz_agents/neural/agent.py and pyproject.toml; the digests of files and choices in "
        "tests/agents/neural/test_shipped.py; then play again what depends on the newest: ddz reproduce chances, "
        "levels and policy-strength, and write the model card."
    )


def main() -> None:
    """Train or not, judge, and ship or not."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the training and the games")
    parser.add_argument("--minutes", type=float, default=60.0, help="minutes of training in total (60)")
    parser.add_argument("--candidate", type=Path, help="judge these weights instead of training any")
    parser.add_argument("--processes", type=int, default=1, help="worker processes of the games (1)")
    parser.add_argument("--ship", action="store_true", help="let it be the newest policy if it is better")
    asked = parser.parse_args()
    candidate = asked.candidate or train(asked.out, asked.minutes)
    judgements = judge(candidate, asked.out, processes=asked.processes)
    better = all(judgement.passed for judgement in judgements)
    write_line(TABLE, candidate, judgements)
    lines = [
        (
            judgement.rival.agent,
            judgement.wins.text_with_range(to="–"),
            judgement.gain.text_with_range("+.1f"),
            str(judgement.passed),
        )
        for judgement in judgements
    ]
    print(Table("The candidate", ("against", "wins %", "more than the shipped policy", "may ship"), lines).markdown())
    if better and asked.ship:
        print(ship(candidate))


if __name__ == "__main__":
    main()
