"""The file that is submitted: what was played and how every game ended, so that anybody can recompute and replay it.

JSON with ``format``, ``code`` (of the package), ``deals`` (list, seed, count, SHA-256), ``agents`` by name
(specification, the digests of the files that it reads, and for the field the digest of its moves in the sample),
``pairs``, and ``summary``.  A pair has a line a deal: its number, the game with the first agent as landlord, the game
with it as both peasants.  A game is the stake that the first agent won (below zero if it lost) and the number of moves,
``8/42``; behind it ``/a`` or ``/b`` if that agent lost by a fault.  Everything else follows: under the rules of the
benchmark the landlord sits in seat 0, and who wins a stake has won the game.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ddz_env.core.whole_file import replace_file
from ddz_training.measure.benchmark.field import FIELD, RULES, DealList, deal_list, digest, frozen_moves
from ddz_training.measure.benchmark.play import Contest
from ddz_training.measure.match.duplicate import SIDES, DealWorker, GameRecord, seatings
from ddz_training.measure.match.errors import BenchmarkFileError, NotReproducedError
from ddz_training.measure.match.ordered_map import ordered_map
from ddz_training.measure.match.provenance import Provenance, SameCode
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress
from ddz_training.measure.match.statistics import (
    AgentResult,
    by_deal,
    by_pair,
    milliseconds_a_decision,
    side_score,
    summarize,
)

FORMAT = "ddz-benchmark-2"
_GONE = "ddz-benchmark-1"
"""The format of version 1, whose field had a player that is gone."""
SCORING = "stake"
"""What scores are of; wins are counted beside them."""

_GAME = re.compile(r"(-?\d+)/(\d+)(?:/([ab]))?")
_SUMMARY_DIGITS = 6
_TIME_DIGITS = 4
_SHOWN = 3

Pair = tuple[str, str]


@dataclass(frozen=True)
class Results:
    """What a file holds.

    Attributes:
        contest: Who played whom on which deals.
        deals: How many deals each pair played, the first of the list.
        records: The games; times and decisions of single games are not kept.
        milliseconds: A decision of each agent of a pair.
        code: The code that played.
        files: By specification, the files that agents read, with digests.
        path: The file.
    """

    contest: Contest
    deals: int
    records: Sequence[GameRecord]
    milliseconds: Mapping[Pair, tuple[float, ...]]
    code: tuple[str, ...]
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    path: Path | None = None

    def summary(self) -> list[AgentResult]:
        """Two results a pair, with stakes for scores: :func:`ddz_training.measure.match.statistics.summarize`."""
        times = {}
        for (a, b), (ms_a, ms_b) in self.milliseconds.items():
            times[a, b], times[b, a] = ms_a, ms_b
        found = summarize(self.records, SCORING)
        return [replace(line, ms_per_decision=times[line.agent, line.opponent], decisions=0) for line in found]

    def lines(self) -> dict[Pair, list[str]]:
        """The deals of each pair, as the file has them."""
        played = by_pair(self.records)
        return {
            pair: [deal_text(games) for _, games in sorted(by_deal(played[pair]).items())]
            for pair in self.contest.pairs
        }


def results_of(contest: Contest, records: Sequence[GameRecord], store: ResultStore[GameRecord]) -> Results:
    """The results of games that were played.

    Args:
        contest: Who played whom.
        records: The games.
        store: Where they were kept: it knows the code and the agents' files.
    """
    games, said = by_pair(records), store.settings
    times = {
        pair: tuple(
            round(milliseconds_a_decision((record, letter) for record in games[pair]), _TIME_DIGITS) for letter in "ab"
        )
        for pair in contest.pairs
    }
    deals = len({record.deal for record in records})
    return Results(contest, deals, records, times, tuple(said["code"]), said.get("files", {}), store.path)


def game_text(record: GameRecord) -> str:
    """How a game ended, as a file says it."""
    text = f"{side_score(record, 'a', SCORING):g}/{record.moves}"
    return f"{text}/{record.fault_by}" if record.fault_by else text


def deal_text(records: Sequence[GameRecord]) -> str:
    """A deal of a pair as a line of a file."""
    games = sorted(records, key=lambda record: record.game)
    return " ".join([str(games[0].deal), *map(game_text, games)])


def write_file(path: Path, results: Results) -> None:
    """Write the file that is submitted."""
    contest = results.contest
    document = {
        "format": FORMAT,
        "code": list(results.code),
        "rules": RULES.name,
        "deals": {**contest.deals.settings, "count": results.deals},
        "agents": {name: _agent(name, spec, results) for name, spec in contest.agents.items()},
        "summary": _summary(results),
        "pairs": [
            {"a": a, "b": b, "ms": [None if math.isnan(ms) else ms for ms in times], "games": games}
            for (a, b), games in results.lines().items()
            for times in [results.milliseconds[a, b]]
        ],
    }
    replace_file(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def _agent(name: str, spec: str, results: Results) -> dict[str, Any]:
    about: dict[str, Any] = {"agent": spec}
    if files := results.files.get(spec):
        about["files"] = dict(files)
    if name in FIELD:
        about["moves"] = digest(frozen_moves()[name])
    return about


def _summary(results: Results) -> list[dict[str, Any]]:
    """What readers look at first; decisions are not kept."""
    return [_rounded({**line.as_dict(), "decisions": None}) for line in results.summary()]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, _SUMMARY_DIGITS) if isinstance(value, float) else value


def read_file(path: Path) -> Results:
    """Read a file and check that it is whole, of this benchmark, and agrees with itself; nothing is played.

    Raises:
        BenchmarkFileError: If it is not.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        results = _read(document, path)
    except BenchmarkFileError as error:
        raise BenchmarkFileError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BenchmarkFileError(f"{path} is no file of the benchmark: {error!r}") from error
    if _summary(results) != document["summary"]:
        raise BenchmarkFileError(f"{path}: its summary is not what its games add up to")
    return results


def _read(document: Mapping[str, Any], path: Path) -> Results:
    if document["format"] == _GONE:
        raise BenchmarkFileError("it is of version 1 of the benchmark, whose field had policy-final: aa483f2 reads it")
    if document["format"] != FORMAT:
        raise BenchmarkFileError(f"its format is {document['format']!r}, not {FORMAT!r}")
    if document["rules"] != RULES.name:
        raise BenchmarkFileError(f"its rules are {document['rules']!r}, not {RULES.name!r}")
    deals = deal_list(document["deals"]["list"])
    count = _count(document["deals"], deals)
    agents = {name: _named(name, about) for name, about in document["agents"].items()}
    pairs = tuple((pair["a"], pair["b"]) for pair in document["pairs"])
    if len(set(pairs)) != len(pairs) or not {name for pair in pairs for name in pair} <= agents.keys():
        raise BenchmarkFileError("a pair stands twice, or names an agent that is not listed")
    records = [record for pair in document["pairs"] for record in _records(pair, count)]
    times = {
        (pair["a"], pair["b"]): tuple(math.nan if ms is None else float(ms) for ms in pair["ms"])
        for pair in document["pairs"]
    }
    files = {agents[name]: about["files"] for name, about in document["agents"].items() if "files" in about}
    contest = Contest(agents, pairs, deals)
    return Results(contest, count, records, times, tuple(document["code"]), files, path)


def _count(about: Mapping[str, Any], deals: DealList) -> int:
    if about["sha256"] != deals.sha256 or about["seed"] != deals.seed:
        raise BenchmarkFileError(f"its deals are not the committed ones of the list {deals.name!r}")
    count = int(about["count"])
    deals.check_count(count)
    return count


def _named(name: str, about: Mapping[str, Any]) -> str:
    agent: str = about["agent"]
    if name in FIELD and (agent != FIELD[name].agent or about["moves"] != digest(frozen_moves()[name])):
        raise BenchmarkFileError(f"{name} is not the committed player of the field")
    return agent


def _records(pair: Mapping[str, Any], count: int) -> list[GameRecord]:
    """The games of a pair, which must be those of every deal."""
    if len(pair["games"]) != count:
        raise BenchmarkFileError(f"{pair['a']} v {pair['b']} has {len(pair['games'])} deals, not {count}")
    records = []
    for deal, line in enumerate(pair["games"]):
        number, *games = line.split()
        if int(number) != deal or len(games) != len(seatings(RULES)):
            raise BenchmarkFileError(f"{pair['a']} v {pair['b']}: {line!r} is not deal {deal}")
        records += [_record(pair["a"], pair["b"], deal, game, text) for game, text in enumerate(games)]
    return records


def _record(a: str, b: str, deal: int, game: int, text: str) -> GameRecord:
    """A game from its text."""
    if (match := _GAME.fullmatch(text)) is None or int(match[1]) == 0:
        raise BenchmarkFileError(f"{a} v {b}, deal {deal}: {text!r} is no game")
    stake, moves, fault_by = int(match[1]), int(match[2]), match[3] or ""
    if fault_by and (stake > 0) == (fault_by == "a"):
        raise BenchmarkFileError(f"{a} v {b}, deal {deal}: who fails has lost, but {text!r} says otherwise")
    seats = seatings(RULES)[game]
    as_landlord = seats[0] == "a"
    landlord = stake if as_landlord else -stake
    who, side = a if as_landlord else b, SIDES[landlord < 0]
    win, scored, untold = _returns(math.copysign(1, landlord)), _returns(landlord), (0.0,) * RULES.players
    return GameRecord(deal, a, b, game, seats, 0, who, side, win, scored, untold, moves, 0, 0, 0.0, 0.0, fault_by)


def _returns(landlord: float) -> tuple[float, ...]:
    peasants = RULES.players - 1
    return (float(landlord), *[-landlord / peasants] * peasants)


def replay(
    results: Results,
    sample: int | None,
    rng: np.random.Generator,
    *,
    processes: int = 1,
    on_progress: OnProgress = no_progress,
) -> int:
    """Play deals of a file again, drawn anew for each pair, and compare how every game ended.

    Args:
        results: What the file holds.
        sample: How many deals a pair; None for all of them.
        rng: Draws them.  Whoever submits a file must not know which.
        processes: Worker processes.
        on_progress: Told how many deals, times pairs, are done.

    Returns:
        How many deals, times pairs, ended as the file says.

    Raises:
        FrozenChangedError: If deals or players of the field are others here than those committed.
        AgentChangedError: If an agent reads other files here.
        UnknownAgentError: If an agent is not installed here.
        NotReproducedError: If a game ended otherwise.
    """
    contest = results.contest
    contest.check()
    here = Provenance.of(contest.agents.values())
    here.check_files(Provenance(files=results.files), results.path)
    contest.check_members()
    said = results.lines()
    count = results.deals if sample is None else min(sample, results.deals)
    chosen = [
        (pair, int(deal)) for pair in contest.pairs for deal in sorted(rng.choice(results.deals, count, replace=False))
    ]
    tasks = [contest.match(deal, *pair) for pair, deal in chosen]
    start = SameCode(functools.partial(DealWorker[str], deal_text, contest.player), here)
    different = []
    on_progress(0, len(tasks))
    with closing(ordered_map(start, tasks, processes)) as found:
        for number, ((pair, deal), line) in enumerate(zip(chosen, found, strict=True), 1):
            if line != said[pair][deal]:
                different.append(f"{pair[0]} v {pair[1]}: {line!r}, not {said[pair][deal]!r}")
            on_progress(number, len(tasks))
    if different:
        raise NotReproducedError(
            f"{len(different)} of {len(tasks)} deals ended otherwise than {results.path} says: "
            f"{'; '.join(different[:_SHOWN])} (deal, then score/moves of both games)"
        )
    return len(tasks)
