"""Fingerprints of what the agents play and what training learns: equal before and after a refactoring.

    python -m tests.make_fingerprints --out before.json     # every agent and the trainings
    python -m tests.make_fingerprints --check before.json   # the same again, after the change
    python -m tests.make_fingerprints --only games --out tests/data/fingerprints.json   # the golden file

Everything goes through the command line ``ddz``, in processes of their own, so that nothing here depends on how the
packages are arranged.  The golden file, which a long test compares with, holds the games of the agents without a
network: the last digits of a network's answers, and trained weights, depend on the processor.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from ddz_training.measure.duplicate import GameResult
from ddz_training.measure.store import parse_rows, read_results, result_columns
from tests.training.cli.terminal import as_options

ROOT = Path(__file__).resolve().parent.parent

GAMES: dict[str, str] = {
    "baselines": "random random-staged rules rlcard-rule --deals 20",
    "baselines bidding": "random random-staged rules --rules bidding --deals 8",
    "baselines botzone": "random random-staged rules --rules botzone --deals 8",
    "baselines half-deck": "random random-staged rules --rules half-deck --deals 8",
    "exact": "cheating-minimax determinized-minimax expectimax rules --rules mini --deals 3",
    "exact inference": (
        "expectimax:inference=rules determinized-minimax:inference=correct,opponent=rules --rules mini --deals 2"
    ),
    "isuct": "isuct:iterations=300 rules --deals 4",
    "isuct bidding": "isuct:iterations=200 rules --rules bidding --deals 2",
    "isuct trees": "isuct:iterations=100,trees=4,threads=2,exploration=0.5 rules --deals 2",
    "isuct options": "isuct:iterations=200,finish=false isuct:iterations=200,particles=50 --deals 2",
    "duct": "duct:iterations=30,trees=8 cheating-uct:iterations=30,trees=8 --deals 2",
    "rollout": "rollout:iterations=100,particles=50 rules --deals 4",
    "rollout options": (
        "rollout:iterations=100,particles=0,caution=0 rollout:iterations=60,particles=0,candidates=4 --deals 2"
    ),
    "rollout bidding": "rollout:iterations=60,particles=30 rules --rules bidding --deals 2",
    "robbing": "rules random --rules robbing,doubling=true,showing=true --deals 10",
    "robbing payoff": "rules:bidder=payoff,bidder.worlds=20 rules --rules robbing,doubling=true,showing=true --deals 2",
}
"""Arguments of ``ddz arena``."""

LEARNED: dict[str, str] = {
    "policy": "policy rules --deals 10",
    "policy temperature": "policy:temperature=1.0 random --deals 4",
    "neural": "neural-ismcts:iterations=100 policy --deals 2",
    "neural forms": (
        "neural-ismcts:iterations=80,particles=0,trees=2,batch=4 "
        "neural-ismcts:iterations=60,skip_search_above=1,candidates=8 --deals 2"
    ),
    "neural points": "neural-ismcts:path=points,iterations=60 policy:path=points --rules bidding --deals 2",
}
"""The same of agents that ask a network."""

_SB3 = "num_envs=16 n_steps=64 batch_size=256 width=32 eval_freq=0"
TRAININGS: dict[str, str] = {
    "selfplay": (
        "selfplay --updates 20 --seed 5 ; num_envs=64 groups=4 num_steps=16 minibatch=256 microbatch=128 "
        "update_epochs=2 architecture.width=64 eval_freq=10 eval_deals=4 eval_opponents=random rules_share=0.25 "
        "opponent_share=0.25 snapshot_every=5 pool_size=3 critic_warmup_updates=2 settled_share=0.25"
    ),
    "selfplay plain": (
        "selfplay --updates 20 --seed 6 --objective stake ; num_envs=64 groups=4 num_steps=16 minibatch=256 "
        "microbatch=128 update_epochs=1 architecture.width=64 eval_freq=0"
    ),
    **{f"sb3 {who}": f"sb3 --timesteps 20480 --seed 3 --opponents {who} ; {_SB3}" for who in ("rules", "random")},
    "sb3 any": (
        "sb3 --timesteps 512 --seed 3 --opponents isuct:iterations=20 ; num_envs=4 n_steps=64 batch_size=128 "
        "width=32 eval_freq=0"
    ),
}
"""Arguments of ``ddz train``, its settings behind the semicolon; each of twenty updates (``sb3 any``: two)."""

_VOLATILE = ("seconds", "sps", "time", "elapsed", "per_second", "workers_busy", "rollout_share", "memory")


def ddz(*arguments: str) -> str:
    command = [sys.executable, "-c", "from ddz_training.cli.app import main; main()", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"ddz {' '.join(arguments)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def games(name: str) -> str:
    """The digest of an arena's games: everything that is recorded of them, times left out."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "games.sqlite"
        fixed = f"--seed 11 --no-timing --processes 1 --out {out}"
        ddz("arena", *(GAMES | LEARNED)[name].split(), *fixed.split())
        saved = [column.name for column in result_columns(GameResult)]
        records = parse_rows(GameResult, read_results(out)[1])
        lines = [{name: getattr(game, name) for name in saved} for game in records]
    return _digest(json.dumps(lines, sort_keys=True).encode())


def training(name: str) -> dict[str, str]:
    """The digests of a training's weights and curves, without times."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        arguments, _, settings = TRAININGS[name].partition(";")
        ddz("train", *arguments.split(), "--out", str(out), *as_options(settings.split()))
        return {file.name: _digest(_timeless(file)) for file in sorted(out.iterdir()) if "checkpoint" not in file.name}


def _timeless(file: Path) -> bytes:
    if file.suffix == ".csv":
        lines = [line.split(",") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        kept = [index for index, title in enumerate(lines[0]) if not any(word in title for word in _VOLATILE)]
        return "\n".join(",".join(line[index] for index in kept) for line in lines).encode()
    tensors: dict[str, Any] = {}
    if file.suffix == ".safetensors":  # the header may name the time, or be worded otherwise
        from safetensors.numpy import load_file

        tensors = load_file(file)
    if file.suffix == ".zip":
        import torch

        with zipfile.ZipFile(file) as archive:
            tensors = torch.load(io.BytesIO(archive.read("policy.pth")), map_location="cpu")
        tensors = {name: weights.numpy() for name, weights in tensors.items()}
    return b"".join(name.encode() + tensors[name].tobytes() for name in sorted(tensors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--check", type=Path, help="compare with this file, as far as it goes")
    parser.add_argument("--only", action="append", help="only this part: games, learned, training")
    chosen = parser.parse_args()
    wanted = json.loads(chosen.check.read_text(encoding="utf-8")) if chosen.check else None
    parts = chosen.only or (list(wanted) if wanted else ["games", "learned", "training"])
    found: dict[str, Any] = {}
    for part, names, make in (("games", GAMES, games), ("learned", LEARNED, games), ("training", TRAININGS, training)):
        for name in names if part in parts else ():
            now = found.setdefault(part, {})[name] = make(name)
            same = "" if wanted is None else "same" if wanted[part].get(name) == now else "DIFFERS"
            print(f"{part}: {name}: {now} {same}", flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    if wanted is not None:
        pairs = ((part, name) for part in found for name in wanted[part])
        different = [f"{part}: {name}" for part, name in pairs if found[part].get(name) != wanted[part][name]]
        raise SystemExit(f"different: {', '.join(different)}" if different else 0)


if __name__ == "__main__":
    main()
