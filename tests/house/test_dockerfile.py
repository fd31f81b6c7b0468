"""The Dockerfile, without a daemon: what it copies, installs and runs is there; and what the release check runs."""

from __future__ import annotations

import json
import re
import shlex
from fnmatch import fnmatch

from ddz_training.apps.cli import app
from tests.release import COMMANDS as CHECKED
from tests.release import pyproject
from tests.rooms import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STEPS = [
    line.split(maxsplit=1)
    for line in re.sub(r"\\\n\s*", "", re.sub(r"(?m)^\s*#.*\n", "", TEXT)).splitlines()
    if line.strip()
]
COPIED = {source for step, rest in STEPS if step == "COPY" for source in rest.split()[:-1]}
PROJECT = pyproject()


def test_what_is_copied_is_there_and_let_in() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    let_in = [line[1:] for line in lines if line.startswith("!")]
    assert "*" in lines
    for source in COPIED:
        assert (ROOT / source).exists()
        assert any(fnmatch(source, pattern) for pattern in let_in), f"{source} is kept out by .dockerignore"


def test_what_the_build_reads_is_copied() -> None:
    told, build = PROJECT["project"], PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    wheel = {folder.partition("/")[0] for folder in build["only-include"]}
    read = {"pyproject.toml", told["readme"], *told["license-files"], *wheel}
    install = next(rest for step, rest in STEPS if step == "RUN" and "pip install" in rest)
    assert {*read, *re.findall(r"--constraint (\S+)", install)} <= COPIED
    [extras] = re.findall(r'"\.\[([\w,]+)\]"', install)
    assert set(extras.split(",")) <= set(told["optional-dependencies"])


def test_the_image_has_a_python_that_is_supported_and_a_user_without_rights() -> None:
    [(version,)] = [re.findall(r"^python:([\d.]+)", rest) for step, rest in STEPS if step == "FROM"]
    assert f"Programming Language :: Python :: {version}" in PROJECT["project"]["classifiers"]
    [user] = [rest for step, rest in STEPS if step == "USER"]
    made = next(rest for step, rest in STEPS if step == "RUN" and "useradd" in rest)
    assert f"--uid {user} " in made
    assert int(user)


def test_what_it_runs_are_commands_and_the_port_is_the_servers() -> None:
    command = json.loads(next(rest for step, rest in STEPS if step == "CMD"))
    shown = re.sub(r" \\\n#\s*", " ", TEXT)
    runs = [shlex.split(line) for line in re.findall(r"(?m) ddz-env (ddz .*)$", shown)]
    assert len(runs) == 2
    checked = [["ddz", *line.split()] for line in CHECKED if not line.startswith("--")]
    for ddz, name, *options in (command, *runs, *checked):
        assert ddz == "ddz"
        known = [spelled for parameter in app.commands[name].params for spelled in parameter.opts]
        assert all(option in known for option in options if option.startswith("--"))
    [port] = [rest for step, rest in STEPS if step == "EXPOSE"]
    assert int(port) == next(one.default for one in app.commands["web"].params if one.name == "port")
