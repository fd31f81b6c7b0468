"""The docs say what is true today: generated tables are current, examples run, links lead somewhere."""

from __future__ import annotations

import ast
import doctest
import re
import runpy
import sys
from itertools import chain
from pathlib import Path

import pytest

import generate
import record_tables
import result_tables
from ddz_agents.neural.shipped import POLICIES, shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_training.measure.markdown import Table
from ddz_training.measure.store import read_results
from tests.packages import ROOT, SOURCES

PAGES = generate.generated_pages()
TUTORIALS = {page.name: page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.name != "index.md"}
ORIGINALS = {ROOT / "docs" / "zh" / name: page for name, page in TUTORIALS.items()}
ORIGINALS[ROOT / "README.zh.md"] = ROOT / "README.md"
"""By their translations into Chinese."""
OPTIONAL = ("douzero", "onnxruntime", "pyspiel", "rlcard", "sb3_contrib", "stable_baselines3", "torch")
"""What pages show beside this package; an example is skipped where it is not installed."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_generated_tables_are_current(page: Path) -> None:
    if page.name == "training-settings.md":
        pytest.importorskip("sb3_contrib")
    assert generate.stale([page]) == {}


def test_the_strengths_of_the_agents_are_those_of_the_results() -> None:
    assert generate.stale_strengths() == {}


def test_every_table_is_on_some_page() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    shown = set(re.findall(r"(?m)^(?:# )?<!-- table: ([\w-]+) -->$", "\n".join(texts)))
    programs = {table for table in generate.TABLES if table.startswith("code-")}  # a page shows one of its library
    assert {*generate.TABLES} - programs <= shown <= {*generate.TABLES}


def test_a_part_of_a_table_has_the_columns_and_lines_that_are_named() -> None:
    whole = Table("", ("a", "b", "c"), [("1", "2", "3"), ("4", "5", "6")], "Why.")
    assert result_tables.part(whole, "c", "a", rows=lambda row: row["b"] == "5").splitlines() == [
        *("| c | a |", "| --- | --- |", "| 6 | 4 |", "", "Why."),
    ]
    assert result_tables.part(whole) == whole.markdown()
    with pytest.raises(ValueError, match="not in tuple"):
        result_tables.part(whole, "d")


def test_a_stale_page_is_refused_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    address = "git clone --depth 1 https://github.com/-OWNER-/game ddz-env\n"
    page.write_text(f"{address}<!-- table: actions -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    assert generate.stale([page])
    monkeypatch.setattr("sys.argv", ["generate.py", str(page)])
    generate.main()
    new = page.read_text(encoding="utf-8")
    assert "/game ddz-env" not in new  # but the address of pyproject.toml
    assert "| 0 | pass |" in new
    assert new.endswith("<!-- end -->\nafter\n")
    assert generate.stale([page]) == {}
    with pytest.raises(SystemExit, match="unknown"):
        generate.refreshed("<!-- table: unknown -->\n<!-- end -->")


def test_records_say_of_players_who_were_met_what_matches_say() -> None:
    """Within 1.5 points, or within the interval."""
    found = list(record_tables.controls())
    assert [control.players for control in found] == ["rules", "policy-v1", "policy-v2", "neural-ismcts"]
    for control in found:
        by_records, played = control.estimate.wins, control.played.mean
        assert abs(by_records.mean - played) <= 0.015 or by_records.low <= played <= by_records.high


def test_douzeros_games_do_not_tell_the_search_from_the_policy_as_pages_say() -> None:
    policy, search = record_tables.search_over_policy()
    assert (policy.agent, search.agent, search.games) == ("policy-v3", "neural-ismcts", policy.games)
    assert search.wins.low < 0.5 < search.wins.high
    assert search.over_first.low < 0 < search.over_first.high


def test_the_model_card_is_of_weights_that_ship_and_hugging_face_reads_it() -> None:
    played = read_results(ROOT / "docs" / "results" / "policy_strength.csv")[0]["weights"]
    assert played in chain.from_iterable(POLICIES.values()), "the table names the policy that played"
    text = (ROOT / generate.MODEL_CARD).read_text(encoding="utf-8")
    weights = load_weights(shipped_policy_path())
    for network in filter(None, (weights.policy, weights.critic)):
        assert f"{round(sum(array.size for array in network.values()), -3):,}" in text
    head = pytest.importorskip("yaml").safe_load(text.split("---\n")[1])
    assert (head["license"], head["pipeline_tag"]) == ("mit", "reinforcement-learning")
    wins = {one["dataset"]["name"]: one["metrics"][0]["value"] for one in head["model-index"][0]["results"]}
    assert any(name.endswith("against rules") and value > 0.6 for name, value in wins.items())


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=name)
def test_every_line_of_a_table_has_as_many_cells_as_its_head(page: Path) -> None:
    """A code host cuts and fills lines, or ends the table, without a word."""
    text = re.sub(r"(?ms)^\s*```.*?^\s*```", "", page.read_text(encoding="utf-8"))
    for table in re.findall(r"(?m)(?:^\|.*\n?)+", text):
        lines = table.strip().splitlines()
        assert [line for line in lines if not line.endswith("|")] == []
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1, lines[0]


def headings(page: Path) -> set[str]:
    """The names of a page's headings in links, as code hosts and the site make them."""
    text = re.sub(r"(?ms)^\s*```.*?^\s*```", "", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"(?m)^#+ (.*)$", text))
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in plain}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not heading or heading in headings(there), f"{page.name} links to {target}#{heading}"


def is_there(dotted: str) -> bool:
    """Whether a module is there, and the class, function or constant named in it is in its source."""
    top, *below = dotted.split(".")
    place = SOURCES[top]
    while below and (place / below[0]).is_dir():
        place /= below.pop(0)
    file = place / f"{below.pop(0)}.py" if below and (place / f"{below[0]}.py").is_file() else place / "__init__.py"
    return not below or re.search(rf"\b{below[0]}\b", file.read_text(encoding="utf-8")) is not None


def test_every_name_of_ours_that_is_written_somewhere_is_there() -> None:
    sources = [file for folder in SOURCES.values() for file in folder.rglob("*.py")]
    gone = {
        f"{name(file)}: {dotted}"
        for file in [*PAGES, *sources]
        for dotted in re.findall(
            r"(?<![\w/.])((?:ddz_env|ddz_agents|ddz_training|ddz_play|ddz_papers)(?:\.\w+)+)", file.read_text("utf-8")
        )
        if dotted != "ddz_env.agents" and not is_there(dotted)  # which is the group of entry points
    }
    assert gone == set()


def test_every_name_with_an_underscore_on_a_page_about_the_code_is_in_the_code() -> None:
    """Or in the page's own programs; pages about peers and measurements also name what is not here."""
    code = [file for folder in (*SOURCES.values(), ROOT / "tests") for file in folder.rglob("*.py")]
    words = {file.stem for file in [*code, *(ROOT / "docs" / "results").iterdir()]}
    words |= {word for file in code for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}
    folders = ("guides/extend", "reference", "explanations", "tutorials")
    pages = [page for folder in folders for page in (ROOT / "docs" / folder).glob("*.md")]
    for page in [*pages, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text(encoding="utf-8")
        programs = " ".join(re.findall(r"(?ms)^```.*?^```", text))
        named = re.findall(r"\w*_\w+", " ".join(re.findall("`([^`]+)`", re.sub(r"(?ms)^```.*?^```", "", text))))
        assert {*named} - words - {*re.findall(r"\w+", programs)} == set(), page.name


def what_to_run(text: str) -> list[str]:
    """What a page says to run, without remarks: programs, commands, and those named in its sentences."""
    programs = re.findall(r"(?s)```python\n(.*?)```", text)
    found = [program if ">>>" in program else ast.unparse(ast.parse(program)) for program in programs]
    found += re.findall(r"(?s)```sh\n(.*?)```", text)
    return sorted(found + re.findall(r"`((?:ddz |make |gymnasium\.|dou_dizhu_v0\.)[^`]*)`", text))


@pytest.mark.parametrize("page", ORIGINALS, ids=name)
def test_a_translation_says_to_run_what_its_original_does(page: Path) -> None:
    """So it need not be run again.  That of the README leaves out everything from the results on."""
    original = ORIGINALS[page].read_text(encoding="utf-8").partition("\n## Strength\n")[0]
    assert what_to_run(page.read_text(encoding="utf-8")) == what_to_run(original)


def test_the_buttons_that_chinese_pages_name_are_on_the_page() -> None:
    words = SOURCES["ddz_play"] / "web" / "page" / "js" / "words.js"
    buttons = words.read_text(encoding="utf-8")
    pages = [page for page in PAGES if page.parent.name == "zh" or page.name == "README.zh.md"]
    named = {button for page in pages for button in re.findall("「(.+?)」", page.read_text(encoding="utf-8"))}
    assert len(named) > 8
    assert {button for button in named if f'"{button}"' not in buttons} == set()


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ORIGINALS], ids=name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks run from top to bottom in one process; prompts are doctests; of other blocks our imports run.

    A block is saved under the name that the paragraph before it gives, so that later ones may import it.
    """
    text = page.read_text(encoding="utf-8")
    blocks = [
        (text[: block.start()].rstrip().rpartition("\n\n")[2], block[1])
        for block in re.finditer(r"(?s)```python\n(.*?)```", text)
    ]
    others = re.sub(r"(?s)```python\n.*?```", "", text)
    blocks += [("", line) for line in re.findall(r"(?m)^from ddz_\S+ import .*$", others)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for number, (before, source) in enumerate(blocks):
        if ">>>" not in source:
            [*_, name] = [f"block{number}.py", *re.findall(r"`(\w+\.py)`", before)]
            monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
            script = tmp_path / name
            script.write_text(source, encoding="utf-8")
            try:
                runpy.run_path(str(script))
            except ImportError as error:
                missing = error.__cause__ or error  # our own errors name an extra, and are raised from Python's
                if not isinstance(missing, ModuleNotFoundError) or missing.name not in OPTIONAL:
                    raise
                pytest.skip(f"{missing.name} is not installed")
    assert doctest.testfile(str(page), module_relative=False).failed == 0
