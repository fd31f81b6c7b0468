"""Files of results name the code and the agents' files that they are from, and refuse to become a mixture."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ddz_agents.neural.shipped import POLICIES, shipped_policy_path
from ddz_env.core.errors import InvalidAgentOptionError, UnknownAgentError
from ddz_env.playing.provenance import _tree_hash, agent_files, code_stamp, file_digest
from ddz_env.playing.registry import agent_factory, agent_names
from ddz_training.apps.cli import app
from ddz_training.experiments.registry import load_experiment
from ddz_training.measure import provenance
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.errors import AgentChangedError, OtherCodeError
from ddz_training.measure.provenance import UNKNOWN, Provenance, other_code
from ddz_training.measure.store import of_rows, read_results

COMMITTED = Path("docs/results/mini_census.csv")

OWN_AGENT = """
class Mine:
    name = "mine"

    def __init__(self, path="", place=""):
        with open(path) as file:
            self.choice = int(file.read())

    def act(self, view, rng):
        return view.legal_moves()[self.choice]
"""


@pytest.fixture
def own_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An agent of which a file decides the moves."""
    (tmp_path / "provenance_own_agent.py").write_text(OWN_AGENT)
    monkeypatch.delitem(sys.modules, "provenance_own_agent", raising=False)  # of another test's folder
    (tmp_path / "cand.txt").write_text("0")
    monkeypatch.chdir(tmp_path)
    return "provenance_own_agent:Mine:path=cand.txt"


def codes(path: Path) -> object:
    return read_results(path)[0]["code"]


def play(path: Path, deals: int, *agents: str) -> int:
    """The number of games in a file after a run of some deals."""
    arena = Arena(agents or ("random", "random-staged"), timing=False)
    return len(run_arena(arena, deals, store=arena.store(path, resume=True)))


def other_stamp(monkeypatch: pytest.MonkeyPatch, stamp: str = "0.1.0 0123456789abcdef") -> str:
    monkeypatch.setattr(provenance, "code_stamp", lambda *folders: stamp)
    return stamp


def ddz(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "160", "NO_COLOR": "1"})


def refuses(*arguments: str) -> bool:
    result = ddz(*arguments)
    return result.exit_code == 2 and "--allow-other-code" in result.output


def test_the_shipped_weights_are_named_where_no_others_are() -> None:
    file = shipped_policy_path()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    for spec in ("policy", "policy:temperature=1", "neural-ismcts:particles=0"):
        assert agent_files(spec) == {file.name: digest}
    assert set(agent_files("neural-ismcts:iterations=4")) == {file.name, "belief.safetensors"}


def test_every_option_of_every_agent_that_is_a_path_is_named(tmp_path: Path) -> None:
    file, found = tmp_path / "weights.bin", []
    file.write_text("anything")
    for name in set(agent_names()) - {"chat"}:  # the only path of which is written
        declared = getattr(agent_factory(name), "options_type", None)
        for option in declared.options() if declared else ():
            if Path in option.kinds:
                assert agent_files(f"{name}:{option.name}={file}")[file.name] == file_digest(file)
                found.append(name)
            else:
                assert name in {*found, *POLICIES} or not declared.of().files()
    assert {"policy", "neural-ismcts"} <= set(found)
    assert agent_files("rules") == agent_files("isuct:iterations=9") == agent_files("random") == {}


def test_an_agent_from_elsewhere_is_named_by_its_source_and_its_files(own_agent: str, tmp_path: Path) -> None:
    before = agent_files(own_agent)
    assert set(before) == {"provenance_own_agent.py", "cand.txt"}
    (tmp_path / "provenance_own_agent.py").write_text(OWN_AGENT + "\n# edited\n")
    after = agent_files(own_agent)
    assert {name for name in before if before[name] != after[name]} == {"provenance_own_agent.py"}
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "w").write_text(folder)
    two = agent_files("provenance_own_agent:Mine:path=a/w,place=b/w")
    assert set(two) == {"provenance_own_agent.py", "w", "b/w"}  # files of one name are distinguished


def test_an_agent_in_a_package_is_named_by_the_whole_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "provenance_own_package"
    package.mkdir()
    for name, text in (("__init__", ""), ("helper", "CHOICE = 0\n"), ("agent", OWN_AGENT)):
        (package / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    spec = "provenance_own_package.agent:Mine"
    before = agent_files(spec)
    assert set(before) == {package.name}
    (package / "helper.py").write_text("CHOICE = 1\n")
    _tree_hash.cache_clear()
    assert agent_files(spec) != before


def test_wrong_agents_are_the_same_errors_as_where_they_are_made() -> None:
    with pytest.raises(UnknownAgentError, match="nobody"):
        agent_files("nobody")
    for spec, named in (("isuct:iterations=0", "'isuct:iterations=0'"), ("policy:threads=-1", "threads")):
        with pytest.raises(InvalidAgentOptionError, match=named):
            agent_files(spec)


def test_the_stamp_of_the_code_sees_every_edit_of_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learn, measure = "ddz_training.learn", "ddz_training.measure"
    assert len({code_stamp(), code_stamp(learn), code_stamp(learn, measure)}) == 3
    for folder in ("ddz_env", "ddz_agents"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "source.py").write_text("1\n")
    monkeypatch.setattr("ddz_env.playing.provenance.package_folder", tmp_path.joinpath)
    before = code_stamp()
    (tmp_path / "ddz_agents" / "source.py").write_text("2\n")
    _tree_hash.cache_clear()
    assert code_stamp() != before


def test_resuming_with_a_replaced_file_names_the_agent_and_both_digests(own_agent: str, tmp_path: Path) -> None:
    path, weights = tmp_path / "games.csv", tmp_path / "cand.txt"
    assert play(path, 2, own_agent, "random") == 4
    content, before = path.read_bytes(), file_digest(weights)
    weights.write_text("-1")
    with pytest.raises(AgentChangedError) as refusal:
        play(path, 4, own_agent, "random")
    for part in (repr(own_agent), f"cand.txt was {before}", f"now it is {file_digest(weights)}"):
        assert part in str(refusal.value)
    assert path.read_bytes() == content
    with other_code(), pytest.raises(AgentChangedError):  # the flag is about our code, not about other weights
        play(path, 4, own_agent, "random")
    weights.write_text("0")
    assert play(path, 4, own_agent, "random") == 8


def test_the_shipped_weights_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arena, path = Arena(("policy", "random"), timing=False), tmp_path / "games.jsonl"
    store = arena.store(path)
    store.add(run_arena(Arena(("random", "random-staged"), timing=False), 1))
    del store
    other = tmp_path / "policy.safetensors"
    other.write_text("trained since")
    monkeypatch.setattr("ddz_agents.neural.agent.policy_path", lambda path=None: other)
    with pytest.raises(AgentChangedError, match=r"'policy'.*policy\.safetensors was"):
        arena.store(path, resume=True)


def test_a_file_gains_the_digests_of_agents_that_join_it(own_agent: str, tmp_path: Path) -> None:
    first, second = Provenance.of(["random", "policy"]), Provenance.of([own_agent])
    joined = second.resuming(first, tmp_path)
    assert set(joined.files) == {"policy", own_agent}
    assert joined.code == first.code
    assert Provenance.take(json.loads(json.dumps(joined.settings()))) == joined


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_other_code_may_read_but_not_add(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, own = tmp_path / f"games{suffix}", code_stamp()
    play(path, 2)
    content = path.read_bytes()
    stamp = other_stamp(monkeypatch)
    assert play(path, 2) == 4, "nothing is to be added"
    with pytest.raises(OtherCodeError, match=f"{own}, this is {stamp}.*--allow-other-code"):
        play(path, 3)
    assert path.read_bytes() == content
    with other_code():
        assert play(path, 3) == 6
    assert codes(path) == [own, stamp]
    assert content.partition(b"\n")[2] == path.read_bytes().partition(b"\n")[2][: len(content.partition(b"\n")[2])]
    assert play(path, 4) == 8, "the file names this code already"


def test_a_file_without_results_is_the_next_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.csv"
    Arena(("random", "random-staged"), timing=False).store(path)
    stamp = other_stamp(monkeypatch)
    assert play(path, 1) == 2
    assert codes(path) == [stamp]


def test_files_from_before_they_named_their_code_are_read_and_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    play(path, 2)
    first, _, rest = path.read_text().partition("\n")
    settings = json.loads(first.removeprefix("# "))
    settings.pop("code")
    old = f"# {json.dumps(settings, sort_keys=True)}\n{rest}"
    path.write_text(old)
    assert play(path, 2) == 4
    assert path.read_text() == old
    with pytest.raises(OtherCodeError, match=UNKNOWN):
        play(path, 3)
    with other_code():
        play(path, 3)
    assert codes(path) == [UNKNOWN, code_stamp()]


def test_the_commands_take_the_flag_and_store_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, table, census = (tmp_path / name for name in ("games.csv", "table.json", "census.csv"))
    play(path, 1)
    own, stamp = code_stamp(), other_stamp(monkeypatch)
    again = ("arena", "random", "random-staged", "--no-timing", "--processes", "1", "--out", str(path))
    again = (*again, "--deals", "2")
    assert refuses(*again)
    assert ddz(*again, "--allow-other-code", "--table", str(table)).exit_code == 0
    assert json.loads(table.read_text())["settings"]["code"] == [own, stamp]
    committed = COMMITTED.read_text().splitlines(keepends=True)
    census.write_text("".join(committed[:-1]))
    reproduce = ("reproduce", "mini-census", "--out", str(census))
    assert refuses(*reproduce)
    assert ddz(*reproduce, "--allow-other-code").exit_code == 0
    kind = load_experiment("mini-census").result
    found, wanted = (of_rows(kind, read_results(file)[1]) for file in (census, COMMITTED))
    assert found == wanted
    assert codes(census) == [UNKNOWN, stamp]
