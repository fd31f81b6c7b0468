"""Files of results name the version and the agents' files that they are from; a change of either is a warning."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import pytest

from ddz_agents.neural.shipped import BY_ID, shipped_policy_path
from ddz_env import __version__
from ddz_env.playing.registry import find_agent_factory, list_agent_names
from ddz_env.support.errors import InvalidAgentOptionError, UnknownAgentError
from ddz_env.support.options import find_options_type
from ddz_training.measure.contest import Arena, run_arena
from ddz_training.measure.errors import OtherVersionWarning
from ddz_training.measure.provenance import Provenance, digest_agent_files, digest_file
from ddz_training.measure.store import read_results
from tests.training.cli.terminal import done

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
    (tmp_path / "cand.txt").write_text("0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return "provenance_own_agent:Mine:path=cand.txt"


def play(path: Path, deals: int, *agents: str) -> int:
    """The number of games in a file after a run of some deals."""
    arena = Arena(agents or ("random", "random-staged"), timing=False)
    return len(run_arena(arena, deals, store=arena.store(path, resume=True)))


def test_the_shipped_weights_are_named_where_no_others_are() -> None:
    file = shipped_policy_path()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    for spec in ("policy", "policy:temperature=1", "neural-ismcts:particles=0"):
        assert digest_agent_files(spec) == {file.name: digest}
    assert set(digest_agent_files("neural-ismcts:iterations=4")) == {file.name, "belief.safetensors"}


def test_every_option_of_every_agent_that_is_a_path_is_named(tmp_path: Path) -> None:
    file, found = tmp_path / "weights.bin", []
    file.write_text("anything")
    for name in set(list_agent_names()) - {"chat", *BY_ID}:  # which writes its path; an id has its own
        declared = find_options_type(find_agent_factory(name))
        for option in declared.options() if declared else ():
            if Path in option.kinds:
                assert digest_agent_files(f"{name}:{option.name}={file}")[file.name] == digest_file(file)
                found.append(name)
            else:
                assert name in found or not declared.from_values().files()
    assert {"policy", "neural-ismcts"} <= set(found)
    assert digest_agent_files("rules") == digest_agent_files("isuct:iterations=9") == digest_agent_files("random") == {}


def test_files_of_one_name_are_distinguished(own_agent: str, tmp_path: Path) -> None:
    assert set(digest_agent_files(own_agent)) == {"cand.txt"}
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "w").write_text(folder)
    assert set(digest_agent_files("provenance_own_agent:Mine:path=a/w,place=b/w")) == {"w", "b/w"}


def test_wrong_agents_are_the_same_errors_as_where_they_are_made() -> None:
    with pytest.raises(UnknownAgentError, match="nobody"):
        digest_agent_files("nobody")
    for spec, named in (("isuct:iterations=0", "'isuct:iterations=0'"), ("policy:threads=-1", "threads")):
        with pytest.raises(InvalidAgentOptionError, match=named):
            digest_agent_files(spec)


def test_resuming_with_a_replaced_file_names_the_agent_and_both_digests(own_agent: str, tmp_path: Path) -> None:
    path, weights = tmp_path / "games.csv", tmp_path / "cand.txt"
    assert play(path, 2, own_agent, "random") == 4
    before = digest_file(weights)
    weights.write_text("-1")
    now = digest_file(weights)
    with pytest.warns(OtherVersionWarning, match=f"cand.txt of the agent '{own_agent}' was {before}, now it is {now}"):
        assert play(path, 4, own_agent, "random") == 8
    assert read_results(path)[0]["files"] == {own_agent: {"cand.txt": f"{before} {now}"}}
    weights.write_text("0")
    with warnings.catch_warnings():
        warnings.simplefilter("error", OtherVersionWarning)
        assert play(path, 5, own_agent, "random") == 10, "both are known"


def test_a_file_that_was_renamed_is_the_same_and_one_under_another_name_is_not() -> None:
    here = Provenance.of(["policy"])
    ((name, digest),) = here.files["policy"].items()
    assert not [*here.describe_changes(Provenance(files={"policy": {"policy.safetensors": digest}}))]
    other = Provenance(files={"policy": {"policy.safetensors": "0123456789abcdef"}})
    assert [*here.describe_changes(other)] == [f"{name} of the agent 'policy' was 0123456789abcdef, now it is {digest}"]


def test_a_file_gains_the_digests_of_agents_that_join_it(own_agent: str, tmp_path: Path) -> None:
    first, second = Provenance.of(["random", "policy"]), Provenance.of([own_agent])
    joined = second.continue_from(first, tmp_path)
    assert set(joined.files) == {"policy", own_agent}
    assert joined.code == first.code == (__version__,)
    assert Provenance.pop_from(json.loads(json.dumps(joined.to_settings()))) == joined


@pytest.mark.parametrize(
    ("before", "warned"),
    [
        (["0.0.1 beef"], "is of version 0.0.1 beef, this is"),
        (None, "of version unknown"),
        ([f"{__version__} beef"], ""),
    ],
)
def test_another_version_is_a_warning_and_the_file_names_both(
    before: list[str] | None, warned: str, tmp_path: Path
) -> None:
    path = tmp_path / "games.csv"
    play(path, 2)
    (tmp_path / "games.sqlite").unlink()
    first, _, rest = path.read_text().partition("\n")
    settings = json.loads(first.removeprefix("# "))
    settings |= {"code": before}
    if before is None:
        del settings["code"]
    old = f"# {json.dumps(settings, sort_keys=True)}\n{rest}"
    path.write_text(old)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OtherVersionWarning)
        assert play(path, 2) == 4, "nothing is to be added"
    assert path.read_text() == old
    result = done("arena", "random", "random-staged", "--no-timing", "--deals", 3, "--processes", 1, "--out", path)
    assert warned in result.stderr
    assert ("of version" in result.stderr) == bool(warned)
    assert read_results(path)[0]["code"] == [*(before or ["unknown"]), __version__]
    assert path.read_text().partition("\n")[2].startswith(rest)
