"""A clean clone, home and temporary folder for one surrounding, and what runs in them."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.anywhere.surroundings import Surrounding
from tests.rooms import ROOT, pythonpath

USER = "nobody"
SPEAKING = ("LANG", "LANGUAGE", "COLUMNS", "LINES", "TERM", "NO_COLOR", "FORCE_COLOR", "HOME", "TMPDIR", "TEMP", "TMP")
"""Variables that say where one is, beside those that begin like the next."""
BEGINNINGS = ("LC_", "XDG_", "PYTHON", "PYTEST", "DDZ_", "GIT_", "VIRTUAL_ENV")
EXTRAS = "dev,plot,render"
"""Of another Python's environment, as in CI's matrix: the other extras have no wheels for all of them."""


class NotHereError(Exception):
    """This machine cannot make the surrounding; the text says why."""


@dataclass(frozen=True)
class Place:
    """Where one surrounding's tests run, with the whole environment."""

    folder: Path
    """Of clone, home and temporary folder."""
    python: str
    environ: dict[str, str]
    before: tuple[str, ...] = ()
    """What precedes the command, to make it another user's."""

    @property
    def clone(self) -> Path:
        """The copy of the repository."""
        return self.folder / "clone"

    def run(self, *arguments: str, log: Path) -> int:
        """Run the interpreter in the clone, with its output in a file; its exit code."""
        command, nothing = [*self.before, self.python, *arguments], subprocess.DEVNULL
        with log.open("wb") as file:
            return subprocess.call(
                command, cwd=self.clone, env=self.environ, stdin=nothing, stdout=file, stderr=subprocess.STDOUT
            )


def make_place(one: Surrounding, folder: Path, kernels: Path) -> Place:
    """Make a surrounding in an empty folder, with the compiled kernels that surroundings share."""
    inside = folder / one.folder
    inside.mkdir(parents=True)
    home, temporary = inside / "home", inside / "tmp"
    home.mkdir()
    temporary.mkdir()
    copy_repository(inside / "clone", with_folder=one.git == "whole")
    user = _user() if one.other_user and os.getuid() == 0 else None
    number = os.getuid() if user is None else user.pw_uid
    environ = {name: value for name, value in os.environ.items() if name not in SPEAKING}
    environ = {name: value for name, value in environ.items() if not name.startswith(BEGINNINGS)}
    environ |= {"HOME": str(home), "TMPDIR": str(temporary), "PYTHONPATH": pythonpath(inside / "clone")}
    if one.git == "no command":
        environ["PATH"] = str(_path_without_git(inside / "bin"))
    if one.kernels == "temporary":
        shutil.copytree(kernels, temporary / f"ddz-env-{number}")
    elif one.kernels == "shared":
        environ["DDZ_CACHE_DIR"] = str(kernels if user is None else shutil.copytree(kernels, inside / "kernels"))
    for name, value in one.environ.items():
        environ.pop(name, None)
        if value is not None:
            environ[name] = value
    python = _environment_of(one.python, inside, environ) if one.python else sys.executable
    if user is not None:
        _give(inside, folder, user)
    if one.home == "read-only":
        home.chmod(0o555)
    place = Place(inside, python, environ, () if user is None else _as_other(user))
    if place.run("-c", "import numba", log=folder / "first.log"):
        raise NotHereError((folder / "first.log").read_text(errors="replace").strip().splitlines()[-1])
    return place


def copy_repository(target: Path, *, with_folder: bool) -> None:
    """Copy what a clone would have, as a repository of its own or not, and what is not committed yet, too."""

    def files(place: Path, *options: str) -> set[str]:
        return set(subprocess.check_output(["git", "ls-files", "-z", *options], cwd=place, text=True).split("\0")) - {
            ""
        }

    known = files(ROOT, "--cached", "--others", "--exclude-standard")
    if with_folder:
        subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(target)], check=True)
        for name in files(target) - known:
            (target / name).unlink()
    for name in known:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
        else:
            (target / name).unlink(missing_ok=True)


def _user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(USER)
    except KeyError:
        raise NotHereError(f"there is no user {USER}") from None


def _give(place: Path, folder: Path, user: pwd.struct_passwd) -> None:
    """Let a user own a place, and reach it."""
    for path in (place, *place.rglob("*")):
        os.chown(path, user.pw_uid, user.pw_gid, follow_symlinks=False)
    for above in (folder, *place.relative_to(folder).parents):
        (folder / above).chmod(0o755)


def _as_other(user: pwd.struct_passwd) -> tuple[str, ...]:
    """What runs a command as a user; the interpreter is made reachable where it lies in somebody's own folder."""
    if shutil.which("setpriv") is None:
        raise NotHereError("there is no setpriv")
    become = ("setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--")
    prefix = Path(sys.base_prefix).resolve()
    closed = [above for above in reversed(prefix.parents) if not above.stat().st_mode & 0o001]
    if not closed:
        return become
    if shutil.which("unshare") is None:
        raise NotHereError(f"{USER} cannot reach {prefix}")
    mounts = (
        'set -e; hold=$(mktemp -d); mount --bind "$0" "$hold"; mount -t tmpfs -o mode=755 tmpfs "$0"; '
        'mkdir -p "$1"; mount --bind "$hold/$2" "$1"; chmod 700 "$hold"; shift 2; exec "$@"'
    )
    places = (str(closed[0]), str(prefix), str(prefix.relative_to(closed[0])))
    return ("unshare", "--mount", "sh", "-c", mounts, *places, *become)


def _path_without_git(folder: Path) -> Path:
    """A folder with every command of the path but git."""
    folder.mkdir()
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for command in Path(place).glob("*") if place else ():
            if not command.name.startswith("git"):
                (folder / command.name).unlink(missing_ok=True)
                (folder / command.name).symlink_to(command)
    return folder


def _environment_of(python: str, folder: Path, environ: dict[str, str]) -> str:
    """An environment of another Python with the package; its interpreter."""
    own = folder / "venv"
    made = str(own / "bin" / "python")
    pip = (made, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", "constraints.txt")
    for step in ((python, "-m", "venv", str(own)), (*pip, "--editable", f".[{EXTRAS}]")):
        done = subprocess.run(step, cwd=folder / "clone", env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NotHereError(f"no environment: {(done.stdout + done.stderr).strip().splitlines()[-1][:200]}")
    return made
