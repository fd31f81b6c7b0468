"""Hostile and damaged files wherever a file is read: a named error or a sound run, and no code of theirs runs."""

from __future__ import annotations

import os
import pickle
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.sabotage import Outcome
from tests.training.apps.terminal import ddz

Damage = Callable[[bytes, Path], bytes]


class Bomb:
    """A pickle that makes a folder when it is read."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> Any:
        return os.makedirs, (str(self.witness), 0o777, True)


def _flipped(share: float) -> Damage:
    def flip(content: bytes, witness: Path) -> bytes:
        damaged = bytearray(content)
        if damaged:
            damaged[int(share * (len(damaged) - 1))] ^= 0x41
        return bytes(damaged)

    return flip


DAMAGES: dict[str, Damage] = {
    "empty": lambda content, witness: b"",
    "one byte": lambda content, witness: b"\x80",
    "zeros": lambda content, witness: bytes(4_096),
    "noise": lambda content, witness: np.random.default_rng(0).bytes(4_096),
    "half": lambda content, witness: content[: len(content) // 2],
    "without its last byte": lambda content, witness: content[:-1],
    "twice": lambda content, witness: content * 2,
    "begins with a byte too many": lambda content, witness: b"\xff" + content,
    "first byte changed": _flipped(0),
    "an early byte changed": _flipped(0.01),
    "a middle byte changed": _flipped(0.5),
    "last byte changed": _flipped(1),
    "a pickle bomb": lambda content, witness: pickle.dumps(Bomb(witness)),
    "a pickle bomb behind it": lambda content, witness: content + pickle.dumps(Bomb(witness)),
    "nested a hundred thousand deep": lambda content, witness: b"[" * 100_000,
    "a nested header": lambda content, witness: struct.pack("<Q", 100_000) + b'{"a":' * 20_000,
    "a header of eight exabytes": lambda content, witness: struct.pack("<Q", 2**63 - 1) + content,
    "UTF-16": lambda content, witness: "斗地主,deal,1\n".encode("utf-16"),
    "a million digits": lambda content, witness: b"# " + b"9" * 1_000_000 + b"\n1,2,3\n",
    "an HTML page": lambda content, witness: b"<!doctype html><title>404</title>",
}


_SMALL_RUN = ("--set", "num_games=16", "--set", "steps=16", "--set", "evaluate_every=0", "--set", "opponents=random")
_SMALL_RUN += ("--set", "architecture.width=8", "--set", "architecture.critic_width=8", "--threads", "1")


def _samples(folder: Path) -> Iterator[tuple[str, Path, Path, list[str]]]:
    """A name, a good file, the folder or file that is put back before each attempt, and the command that reads it."""
    games = ["arena", "random", "random", "--processes", "1", "--no-timing", "--out"]
    for suffix in ("csv", "sqlite"):
        path = folder / f"games.{suffix}"
        _make(*games, str(path), "--deals", "2")
        yield f"results ({suffix})", path, path, [*games, str(path), "--deals", "3"]
    run = folder / "run"
    selfplay = ["train", "selfplay", "--out", str(run)]
    _make(*selfplay, "--updates", "1", *_SMALL_RUN)
    for name in ("checkpoint.safetensors", "curves.csv"):
        yield f"training ({name})", run / name, run, [*selfplay, "--updates", "2", "--resume", "--threads", "1"]
    weights = folder / "weights.safetensors"
    shutil.copy(run / "policy.safetensors", weights)
    begin = ["train", "selfplay", "--init", str(weights), "--out", str(folder / "next"), "--updates", "1"]
    yield "weights (--init)", weights, weights, [*begin, *_SMALL_RUN[:8], "--threads", "1"]
    arena = ["arena", "random", "--deals", "1", "--processes", "1"]
    for kind, suffix in (("policy", "safetensors"), ("onnx", "onnx"), ("zip", "zip")):
        path = weights.with_suffix(f".{suffix}")
        if path != weights:
            shutil.copy(weights, path)
        yield f"weights ({kind})", path, path, [*arena, f"policy:path={path}"]
    checkpoint = folder / "douzero" / "landlord.ckpt"
    _make_checkpoints(checkpoint.parent)
    yield "DouZero's checkpoint", checkpoint, checkpoint, [*arena, f"douzero:path={checkpoint.parent}"]


def _make_checkpoints(folder: Path) -> None:
    import torch

    from ddz_agents.external.douzero.network import new_networks

    folder.mkdir()
    for name, network in new_networks().items():
        torch.save(network.state_dict(), folder / f"{name}.ckpt")


def _make(*arguments: str) -> None:
    result = ddz(*arguments)
    if result.exit_code:
        raise RuntimeError(f"{' '.join(arguments)}: {result.output}")


def spoil_files(folder: Path) -> Outcome:
    """Spoil every kind of file in every way, and let the program read it."""
    outcome = Outcome("hostile files", "a named error or a sound run; code in a file never runs", 100)
    good, witness = folder / "good", folder / "witness"
    for name, path, kept, command in _samples(folder):
        _put(kept, good)
        for damage, spoil in DAMAGES.items():
            path.write_bytes(spoil(path.read_bytes(), witness))
            result = ddz(*command)
            sound = result.exception is None or isinstance(result.exception, SystemExit)
            sound = sound and result.exit_code in (0, 1, 2) and bool(result.output.strip()) and not witness.exists()
            outcome.check(sound, f"{name}, {damage}: exit code {result.exit_code}, {str(result.exception)[:150]}")
            _put(good, kept)
            shutil.rmtree(folder / "next", ignore_errors=True)
    return outcome


def _put(there: Path, place: Path) -> None:
    """Put a copy of a file or a folder in place of what is there."""
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    (shutil.copytree if there.is_dir() else shutil.copy)(there, place)
