"""Full disks, read-only installations and other users of the same machine; only root can set these up."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ddz_env.core.engine import cache, words
from tests.rooms import ROOT, SOURCES, pythonpath
from tests.sabotage import Outcome
from tests.sabotage.files import Bomb

_ATTACKER = 54_322
_GAMES = ("arena", "random", "rules", "--deals", "2", "--processes", "1")
_ONE_KERNEL = "from ddz_env.core.engine.words import popcount; import numpy as np; print(popcount(np.uint64(5)))"


def _ddz(
    arguments: Sequence[str],
    mounts: str = "",
    source: Path = ROOT,
    program: str = "from ddz_training.apps.cli import main; main()",
    after: str = "",
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run ``ddz`` behind mounts of its own, and then a command of the shell that looks at what it left there."""
    command = [sys.executable, "-c", program, *arguments]
    if mounts:
        script = f'{mounts} && "$@"; code=$?; {after or ":"}; exit $code'
        command = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DDZ_", "XDG_"))}
    return subprocess.run(
        command,
        env={**kept, "PYTHONPATH": pythonpath(source), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        cwd=source,
    )


def _why_not() -> str:
    """Why these cannot be tried here."""
    if not hasattr(os, "getuid") or os.getuid() != 0 or shutil.which("unshare") is None:
        return "needs root and `unshare`"
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(mount, capture_output=True, text=True, check=False).stderr.strip()


def fill_disks(folder: Path) -> Outcome:
    """Let everything that writes run out of space."""
    outcome = Outcome("full disk", "a named error and what was played, or a run without the cache", 9)
    outcome.left_out = _why_not()
    if outcome.left_out:
        return outcome
    disk = folder / "disk"
    disk.mkdir()
    small = f"mount -t tmpfs -o size=16k tmpfs {disk}"
    full = f"{small} && head -c 16k /dev/zero > {disk}/fill"
    selfplay = ("train", "selfplay", "--updates", "2", "--threads", "1", "--set", "num_games=16", "--set", "steps=16")
    writers: list[tuple[str, ...]] = [
        (*_GAMES[:4], "400", "--processes", "1", "--out", str(disk / "games.csv")),
        (*_GAMES[:4], "400", "--processes", "1", "--out", str(disk / "games.sqlite")),
        (*selfplay, "--set", "evaluate_every=0", "--out", str(disk / "run")),
        ("export", "--out", str(disk / "policy.onnx")),
        ("record", "random", "--deals", "400", "--processes", "1", "--out", str(disk / "set")),
        ("train", "imitate", "--decisions", "2000", "--threads", "1", "--out", str(disk / "student.safetensors")),
    ]
    for arguments in writers:
        done = _ddz(arguments, small, after=f"find {disk} -name '*.tmp'")
        kept = _is_named(done) and str(disk) in done.stderr and ".tmp" not in done.stdout
        outcome.check(kept, f"{' '.join(arguments[:2])} on a small disk: {_said(done)}")
    for option in ("--table", "--out"):
        done = _ddz((*_GAMES, option, str(disk / "end.csv")), full)
        outcome.check(_is_named(done), f"{option} on a full disk: {_said(done)}")
    done = _ddz(_GAMES, full, DDZ_CACHE_DIR=str(disk / "cache"))
    outcome.check(done.returncode == 0 and "Traceback" not in done.stderr, f"the cache on a full disk: {_said(done)}")
    return outcome


def _is_named(done: subprocess.CompletedProcess[str]) -> bool:
    said = done.stdout + done.stderr
    return done.returncode in (1, 2) and "Traceback" not in said and "No space left" in said


def _said(done: subprocess.CompletedProcess[str]) -> str:
    return f"exit code {done.returncode}: {(done.stdout + done.stderr).strip()[-300:]}"


def install_read_only(folder: Path) -> Outcome:
    """Run from a folder that cannot be written, as a user without a home."""
    outcome = Outcome("read-only installation", "everything works, compiled kernels are kept elsewhere", 3)
    outcome.left_out = _why_not()
    if outcome.left_out:
        return outcome
    copy = folder / "installed"
    for package in SOURCES.values():
        shutil.copytree(package, copy / package.relative_to(ROOT), ignore=shutil.ignore_patterns("__pycache__"))
    read_only = f"mount --bind {copy} {copy} && mount -o remount,ro,bind {copy}"
    home = {"XDG_CACHE_HOME": __file__, "TMPDIR": str(folder)}
    for arguments in (("actions", "333444+56"), _GAMES, ("play", "--help")):
        done = _ddz(arguments, read_only, source=copy, **home)
        outcome.check(done.returncode == 0, f"{' '.join(arguments[:2])}: {_said(done)}")
    return outcome


def share_machine(folder: Path) -> Outcome:
    """Let another user prepare the folder in which this user, who has no home, would keep compiled kernels."""
    outcome = Outcome("another user's files", "what another user prepared never runs, and the game does", len(TRAPS))
    outcome.left_out = _why_not()
    if outcome.left_out:
        return outcome
    own = cache.cache_root()
    stamp = cache.source_stamp(words.__file__)
    kernels = [path.name for path in own.glob(f"{stamp}/*.nbi")] if own else []
    if not kernels:
        raise RuntimeError("kernels are compiled before traps can be laid in their place")
    for trap, prepare in TRAPS.items():
        shared, witness = folder / trap.replace(" ", "-"), folder / f"{trap} ran"
        target = shared / f"ddz-env-{os.getuid()}"
        shared.mkdir()
        inside = prepare(target) / stamp
        inside.mkdir(mode=0o755, parents=True, exist_ok=True)
        for kernel in kernels:
            trigger = pickle.dumps(Bomb(witness))
            (inside / kernel).write_bytes(hashlib.sha256(trigger).digest() + trigger)  # as the cache expects it
        for path in (inside, *inside.iterdir()):
            os.chown(path, _ATTACKER, _ATTACKER)
        done = _ddz((), program=_ONE_KERNEL, TMPDIR=str(shared), XDG_CACHE_HOME=__file__)
        outcome.check(done.returncode == 0 and not witness.exists(), f"{trap}: {witness.exists()}; {_said(done)}")
    return outcome


def _folder(path: Path, mode: int, owner: int = _ATTACKER) -> Path:
    path.mkdir()
    path.chmod(mode)
    os.chown(path, owner, owner)
    return path


def _link(target: Path) -> Path:
    real = _folder(target.with_name("elsewhere"), 0o755)
    target.symlink_to(real)
    os.chown(target, _ATTACKER, _ATTACKER, follow_symlinks=False)
    return real


TRAPS: dict[str, Callable[[Path], Path]] = {
    "a folder open to all": lambda target: _folder(target, 0o777),
    "a folder that looks private": lambda target: _folder(target, 0o700),
    "a link": _link,
    "our folder left open": lambda target: _folder(target, 0o777, os.getuid()),
    "a folder inside ours": lambda target: _folder(target, 0o700, os.getuid()),
}
"""What another user may have made under the name that this user's cache would get."""
