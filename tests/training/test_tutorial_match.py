"""The tutorial that measures an agent shows what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packages import ROOT
from tests.training.cli.terminal import done

PAGE = (ROOT / "docs" / "tutorials" / "measure-an-agent.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"(?m)^ddz arena (cautious\S* .*--deals \d+)$", PAGE)


@pytest.mark.parametrize(
    "arguments", [COMMANDS[0], *[pytest.param(each, marks=pytest.mark.long) for each in COMMANDS[1:]]]
)
def test_the_tables_are_of_the_commands_above_them(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [program] = re.findall(r"(?s)```python\n(.*?)```", PAGE)
    (tmp_path / "cautious.py").write_text(program, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    shown = re.split(r"\n```sh\n", PAGE.split(arguments)[1])[0]
    rates = re.findall(r"[+-]?\d+\.\d(?: %)? \([+\d.-]+(?:–| to )[+\d.-]+\)", shown)
    printed = done("arena", *arguments.split(), "--processes", "1").output
    assert rates
    assert [rate for rate in rates if rate.replace(" %", "") not in printed] == []
