"""Train forms and updates side by side on one GPU, then play out duplicate deals between them.

``python -m benchmarks.forms OUT --seconds 390 --processes 3 --games 512 --minibatch 4095 --deals 2000``; then, from
what it left, ``python -m benchmarks.forms OUT2 --start OUT --runs control small --seconds 212 --processes 8 ...``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.multiprocessing as processes

from benchmarks.forms.network import FormedPolicy
from benchmarks.forms.runs import DEVICE, RUNS, Member, Shared, log_probabilities, look, networks
from ddz_agents.neural.weights import Weights, save_weights
from ddz_env.envs.batch import SelfPlayBatch

FIRST_SEED = 987_000_000
_PATIENCE = 400


def duplicate_shares(one: FormedPolicy, other: FormedPolicy, deals: int, seed: int) -> npt.NDArray[np.float64]:
    """What the first policy wins of each deal, once as landlord and once as the peasants, shape ``[deals]``."""
    share = np.zeros((2, deals))
    for side in (0, 1):  # the first policy's
        batch = SelfPlayBatch(deals, "standard", seed, 1, scoring="win")
        alive = np.ones(deals, np.bool_)
        while alive.any():
            actions, roles = batch.mask.argmax(axis=1), batch.role.copy()
            choice = (np.count_nonzero(batch.mask, axis=1) > 1) & alive
            for policy, landlord in ((one, side == 0), (other, side == 1)):
                rows = np.flatnonzero(choice & ((roles == 0) == landlord))
                if len(rows):
                    seen = look(batch.observation[rows], batch.mask[rows])
                    actions[rows] = log_probabilities(policy, seen, len(rows)).argmax(1).cpu().numpy()
            batch.step(actions)
            over = batch.done & alive
            share[side, over] = (roles[over] == 0) == (side == 0)  # the last to act went out
            alive &= ~batch.done
    mean: npt.NDArray[np.float64] = share.mean(0)
    return mean


def work(name: str, rank: int, place: int, shared: Shared, everyone: Barrier, options: argparse.Namespace) -> None:
    """One process: train, then play its share of the deals."""
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    member = Member(name, rank, shared, options.games, options.minibatch // options.processes, options.start)
    member.collect()  # compiles
    member.games.batch.reset()
    everyone.wait(_PATIENCE)
    began, over, lines = time.time(), False, list[dict[str, float]]()
    while not over:
        spent = (time.time() - began) / options.seconds
        over, line = member.learn(min(spent, 1.0), over=spent >= 1.0)
        lines.append(line | {"decisions": member.decisions, "seconds": round(time.time() - began, 1)})
        if rank == 0 and member.updates % 20 == 0:
            print(name, {key: round(value, 3) for key, value in lines[-1].items()}, flush=True)
    if rank == 0:
        keep(member, name, lines, options.out)
    everyone.wait(_PATIENCE)
    played = {}
    policies = {each: networks(each, options.out)[0] for each in options.runs} | {"shipped": networks("control")[0]}
    for one, other in ((one, other) for other in ("shipped", "control") for one in options.runs if one != other):
        if other in policies:
            shares = duplicate_shares(policies[one], policies[other], options.deals, FIRST_SEED + place)
            played[f"{one} v {other}"] = [len(shares), float(shares.sum()), float((shares**2).sum())]
    (options.out / f"played-{place}.json").write_text(json.dumps(played), encoding="utf-8")


def keep(member: Member, name: str, lines: list[dict[str, float]], out: Path) -> None:
    """Write a run's weights and its curve."""
    torch.save(member.average.state_dict(), out / f"{name}.pt")
    torch.save(member.trusted.state_dict(), out / f"{name}-critic.pt")
    if RUNS[name].form == "standard":
        notes = {"updates": member.updates, "decisions": member.decisions}
        save_weights(out / f"{name}.safetensors", Weights.of(member.average, member.trusted, notes=notes))
    (out / f"{name}.json").write_text(json.dumps(lines), encoding="utf-8")


def begin(options: argparse.Namespace) -> list[Any]:
    """Start the processes of all runs."""
    everyone, count = processes.Barrier(options.processes * len(options.runs)), options.processes
    jobs = list[Any]()
    for name in options.runs:
        size = sum(part.numel() for network in networks(name) for part in network.parameters())
        gradients, numbers = torch.zeros(2, count, size), torch.zeros(2, count, 3, dtype=torch.float64)
        for part in (gradients, numbers):
            part.share_memory_()  # type: ignore[no-untyped-call]
        shared = Shared(gradients, numbers, processes.Barrier(count))
        for rank in range(count):
            job: Any = processes.Process(target=work, args=(name, rank, len(jobs), shared, everyone, options))
            jobs.append(job)
            job.shared = shared, everyone  # or the barriers end with this function
            job.start()
    return jobs


def main() -> None:
    """Train, play, and print what each run won."""
    reader = argparse.ArgumentParser(
        prog="python -m benchmarks.forms", description="Train forms and updates side by side."
    )
    reader.add_argument("out", type=Path)
    reader.add_argument("--start", type=Path)
    reader.add_argument("--runs", nargs="+", default=list(RUNS), choices=list(RUNS))
    reader.add_argument("--seconds", type=float, default=60.0)
    for name, value in (("processes", 1), ("games", 128), ("minibatch", 1024), ("deals", 100)):
        reader.add_argument(f"--{name}", type=int, default=value)
    options = reader.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    print(f"on {DEVICE}, {os.cpu_count()} cores", flush=True)
    processes.set_start_method("spawn")
    jobs = begin(options)
    for job in jobs:
        job.join()
    total: dict[str, Any] = defaultdict(lambda: np.zeros(3))
    for place in range(len(jobs)):
        for pair, numbers in json.loads((options.out / f"played-{place}.json").read_text(encoding="utf-8")).items():
            total[pair] += numbers
    for pair, (deals, won, squares) in total.items():
        error = ((squares / deals - (won / deals) ** 2) / deals) ** 0.5
        print(f"{pair}: {100 * won / deals:.2f} ± {196 * error:.2f} on {deals:.0f} deals")
