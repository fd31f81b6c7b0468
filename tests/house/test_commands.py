"""Every command line of ``ddz`` on a page is one that the program takes today; it is read, not run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ddz_env.support.errors import DouDizhuError
from ddz_training.cli.app import app
from tests.house.test_docs import PAGES, name

PLACEHOLDER = re.compile(r"\b(?:COMMAND|EXPERIMENT|NAME|[A-Z])\b")
"""What a reader replaces: such a line cannot be read as it stands."""
ONLY_HERE = {"ddz reproduce rockets --out docs/results/rockets.csv"}
"""Lines of a recipe, whose code is on the page."""


def lines(text: str) -> Iterator[str]:
    """The command lines of a page: of its blocks, and those named in its sentences."""
    for block in re.findall(r"(?ms)^ *```sh\n(.*?)^ *```", text):
        yield from (line.strip() for line in block.replace("\\\n", " ").splitlines() if line.strip().startswith("ddz "))
    prose = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    yield from (" ".join(line.split()) for line in re.findall(r"`(ddz\s[^`]+)`", prose))


def read(line: str) -> None:
    """Read a command line as the program does, without running it.

    Raises:
        click.ClickException: If the program refuses it.
        DouDizhuError: The same, by a check of its own.
    """
    words = shlex.split(line.split(" > ")[0].split(" | ")[0], comments=True)[1:]
    context, command = click.Context(app, info_name="ddz", **app.context_settings), app  # as it is started
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        named, found, words = command.resolve_command(context, words)
        assert found is not None
        context, command = click.Context(found, parent=context, info_name=named), found  # type: ignore[assignment]
    if not isinstance(command, click.Group) and not {"-h", "--help"} & set(words):
        command.make_context(context.info_name, list(words), parent=context.parent)


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=name)
def test_the_program_takes_every_command_line_of_a_page(page: Path) -> None:
    refused = {}
    for line in sorted(set(lines(page.read_text(encoding="utf-8"))) - ONLY_HERE):
        if PLACEHOLDER.search(line):
            continue
        try:
            read(line)
        except click.MissingParameter:
            continue  # a sentence that names a command, and not what it is given
        except click.BadOptionUsage as error:
            if "requires an argument" not in error.format_message():  # likewise, of an option
                refused[line] = error.format_message()
        except click.ClickException as error:
            refused[line] = error.format_message()
        except DouDizhuError as error:
            refused[line] = str(error)
    assert refused == {}


def test_a_line_of_an_earlier_version_is_found() -> None:
    for line in ("ddz speed", "ddz train selfplay --out a --lam 0.9", "ddz reproduce belief", "ddz arena a --deal 3"):
        with pytest.raises((click.ClickException, DouDizhuError)):
            read(line)
    read("ddz arena rules random --deals 3")
