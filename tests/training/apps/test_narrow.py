"""Whatever is printed as a table fits a screen of 80 and of 60 columns: no word or number is cut or broken in two."""

from __future__ import annotations

import ast
import inspect
import io
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import Result

from ddz_env.playing.registry import agent_factory, agent_names
from ddz_training.apps.cli import GONE, named_commands
from ddz_training.apps.cli.console import show
from ddz_training.apps.cli.info import CHOICE, DEMANDING, VARIANTS
from ddz_training.apps.cli.results import results_table
from ddz_training.apps.documentation import block, refresh_strengths
from ddz_training.apps.strengths import strengths
from ddz_training.experiments.experiment import Table
from ddz_training.experiments.registry import load_experiments
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.league import cross_table, ratings_table
from ddz_training.measure.ratings import rate
from ddz_training.measure.statistics import standings, summarize
from tests.rooms import ROOT
from tests.training.apps import terminal
from tests.training.apps.terminal import refused

RESULTS = ROOT / "docs" / "results"
WIDE, WIDTHS = 1000, (80, 60)


def ddz(line: str, width: int = 80) -> Result:
    return terminal.ddz(*shlex.split(line), width=width)


def words(text: str) -> set[str]:
    """What a text consists of, but for the lines of tables."""
    return set(re.sub(r"[─━╭╮╰╯│]", " ", text).split())


def assert_readable(narrow: str, wide: str, width: int) -> None:
    """No line is too wide, and every word of the narrow text stands in the wide one."""
    lines = narrow.splitlines()
    assert [line for line in lines if cell_len(line.rstrip()) > width and "  is  " not in line] == []
    broken = words(narrow) - words(wide)
    notes = {"A", "wider", "terminal", "also", "shows:", "the", "intervals", "of", "is"}
    short = {name for name in broken if "…" in name}  # a line below says what it stands for
    for name in short:
        assert re.search(rf"{re.escape(name)}(?: \d+)?  is  \S", narrow), name
    headings = {word.rstrip(",.") for word in broken - notes - short}
    assert headings <= words(wide) | {str(number) for number in range(20)}, headings


def shown(table: Table, width: int) -> str:
    screen = io.StringIO()
    show(table, screen=Console(file=screen, width=width, highlight=False))
    return screen.getvalue()


LONG = ("neural-ismcts:inference=mixed,others=policy,particles=256", "mymodule:MyAgent:depth=3,temper=choleric")


def _league() -> Iterator[Table]:
    agents = (*LONG, "determinized-solver", "random", "rules", *(f"number {number}" for number in range(7)))
    games = run_arena(Arena(("random",) * len(agents), timing=False, names=agents), 2)
    for scoring in ("win", "stake"):
        yield results_table(summarize(games, scoring), "a title", scoring)
        yield results_table(standings(games, scoring), "Against all others", scoring, ("agent",))
    ratings, advantage = rate(games, "rules", replicates=20)
    yield ratings_table(ratings, advantage, "12 agents", "rules")
    yield cross_table(ratings, games)


def _of_experiments() -> Iterator[Table]:
    """The tables of the experiments with all columns and rows, computed from large files."""
    for name in (name for experiment in load_experiments() for name in experiment.tables):
        for found in re.findall(r"(?m)^\|.*\|\n\|[-| ]+\|\n(?:\|.*\|\n)+", f"{block(name, RESULTS)}\n"):
            header, _, *lines = ([cell.strip() for cell in line.split("|")[1:-1]] for line in found.splitlines())
            if all(len(line) == len(header) for line in lines):
                yield Table("", header, lines)


@pytest.mark.parametrize("tables", [_league, _of_experiments])
def test_a_table_loses_no_word_and_no_number(tables: Callable[[], Iterator[Table]]) -> None:
    seen = list(tables())
    assert seen
    for table in seen:
        wide = shown(table, WIDE)
        for width in WIDTHS:
            assert_readable(shown(table, width), wide, width)


PRINT_TABLES = {
    "actions": "actions",
    "agents": "agents",
    "arena": f"arena random random --name {LONG[0]} --name {LONG[1]} --deals 2 --processes 1 --no-timing",
    "bidding": "bidding 3344567TJQQKA22BR --player random --worlds 20 --convergence",
    "rules": "rules",
    "study tendency": "study tendency --top random --bottom random --deals 3 --processes 1",
    "train curves": "train curves --out docs/results",
}
"""A quick line of every command that prints a table as soon as it is asked."""
SHOW_ELSEWHERE = {
    "benchmark", "demo", "rate", "reproduce", "study equivalent", "train dmc", "train sb3",
    "train selfplay",
}  # fmt: skip
"""What prints the tables of the test above, or evaluations as in tests/training/apps/test_cli.py, after much work."""
AT_THE_TABLE = {"play", "watch"}
"""What is as wide as the table is: tests/training/apps/test_table_commands.py."""
NO_TABLE = {
    "botzone bot", "botzone bundle", "botzone log", "botzone match", "export", "puzzles", "record", "replay", "solve",
    "train belief", "train imitate", "web",
}  # fmt: skip


def test_it_is_known_of_every_command_whether_it_prints_a_table() -> None:
    known = {*PRINT_TABLES, *SHOW_ELSEWHERE, *AT_THE_TABLE, *NO_TABLE}
    assert known == {name for _, name, _ in named_commands()}


def test_tables_are_drawn_in_one_place() -> None:
    drawing = {
        path.name
        for path in (ROOT / "training").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "rich.table" and node.names[0].name == "Table"
    }
    assert drawing <= {"console.py"}


@pytest.mark.parametrize("line", [*PRINT_TABLES.values(), "rules rlcard", "agents isuct", "agents neural-ismcts"])
def test_a_command_prints_what_fits(line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "results").symlink_to(RESULTS)
    wide, *narrow = (ddz(line, width) for width in (WIDE, *WIDTHS))
    for result, width in zip(narrow, WIDTHS, strict=True):
        assert result.exit_code == wide.exit_code == 0, result.output
        assert_readable(result.stdout, wide.stdout, width)


def test_the_help_lists_commands_under_five_headings_and_fits() -> None:
    told = ddz("--help").stdout
    assert re.findall(r"─ (\w+) ─", told) == ["Options", "Play", "Compare", "Train", "Study", "Borders"]
    listed = set(re.findall(r"(?m)^│ ([a-z]\w*) ", told))
    assert listed == {name.split()[0] for _, name, _ in named_commands()}
    assert not listed & {*GONE, "docs"}
    assert max(map(cell_len, told.splitlines())) <= 80


@pytest.mark.parametrize(("old", "instead"), GONE.items())
def test_a_command_that_went_says_what_to_do_instead(old: str, instead: str) -> None:
    for line in (old, f"{old} x --y z"):
        assert refused(*shlex.split(line)) == f"{old} went: {instead} instead"
    for command in re.findall(r"ddz ([a-z ]+)", instead):
        assert ddz(f"{command} -h").exit_code == 0, command


def test_options_before_a_command_that_went_and_arguments_like_one_are_left_alone() -> None:
    assert refused("--debug", "hand", "-h").startswith("hand went")
    assert ddz("actions 33").exit_code == 0
    assert "went" not in ddz("rules bench").stderr


def test_every_agent_has_one_line_in_the_list_and_those_that_see_all_hands_are_listed_as_such() -> None:
    listed = {**CHOICE, **VARIANTS, **DEMANDING}
    assert sorted(listed) == agent_names()
    lines = ddz("agents").stdout.splitlines()
    for name, facts in listed.items():
        assert len([line for line in lines if re.match(rf"{name} ", line)]) == 1, name
        cheats = bool(getattr(agent_factory(name), "cheats", False))
        assert cheats == (facts.needs == "all hands" or name == "cheating-minimax"), name


def test_the_strengths_that_are_shown_are_those_of_the_committed_results() -> None:
    assert refresh_strengths(RESULTS, check=True) == []
    known = strengths()
    assert set(CHOICE) <= set(known)
    assert list(known) == sorted(known, key=lambda name: -known[name].wins.mean)


RUNS = {
    "arena", "benchmark", "demo", "export", "rate", "record", "study equivalent", "study tendency",
    "train belief", "train curves", "train dmc", "train imitate", "train sb3", "train selfplay",
}  # fmt: skip


def test_every_run_says_what_comes_next() -> None:
    """By one mechanism; the rest looks something up, plays with a person or ends with results of its own."""
    calling = set()
    for _, name, command in named_commands():
        run = inspect.unwrap(command.callback or ddz)
        source = inspect.getsource(run)
        for helper in set(re.findall(r"\b_\w+(?=\()", source)) & set(vars(inspect.getmodule(run))):
            source += inspect.getsource(vars(inspect.getmodule(run))[helper])
        if re.search(r"\bfollow(_policy)?\(", source):
            calling.add(name)
    assert calling == RUNS


@pytest.mark.parametrize(
    ("line", "following"),
    [
        ("arena random random --deals 1", "arena random random --deals 4 --processes 1 --out games.csv"),
        ("arena random random --deals 1 --out games.csv", "--out games.csv --resume"),
        ("study tendency --top random --bottom random --deals 2", "tendency --deals 2 --top random --bottom random"),
        ("study tendency --top random --bottom random --deals 9 --out d.csv", "arena random random --deal-file d.csv"),
    ],
)
def test_the_command_that_comes_next_can_be_typed(
    line: str, following: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ddz(f"{line} --processes 1 {'--no-timing' if line.startswith('arena') else ''}")
    assert result.exit_code == 0, result.output
    [told] = re.findall(r"(?m)^  (ddz .*)$", result.stderr)
    assert following in told
    again = ddz(told.removeprefix("ddz "))
    assert again.exit_code == 0, again.output
