"""Benchmark runs and their results files, which anybody can check and replay.

It is a file of results like any other (:mod:`ddz_training.measure.store`), one line per game.  The settings have the
deals (list, seed, SHA-256), the agents by name, the digests of the files that they read and, for the field, of their
moves in the sample.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ddz_env.playing.agent import is_cheating
from ddz_env.support.errors import DouDizhuError, short_repr
from ddz_training.measure import agent_pool
from ddz_training.measure.benchmark.field import (
    FIELD,
    RULES,
    DealList,
    check_member,
    find_deal_list,
    hash_moves,
    read_committed_moves,
)
from ddz_training.measure.contest import Arena, play_schedule, schedule_pairs
from ddz_training.measure.duplicate import GameResult, list_seatings
from ddz_training.measure.errors import BenchmarkFileError, InvalidBenchmarkRequestError, NotReproducedError
from ddz_training.measure.provenance import Provenance
from ddz_training.measure.store import OnProgress, ResultStore, ignore_progress, read_format
from ddz_training.measure.summaries import AgentResult, group_by_pair, summarize

FORMAT = "ddz-benchmark-2"
SCORING = "stake"
"""The scoring; wins are counted beside it."""

_SHOWN = 3


class BenchmarkContest(NamedTuple):
    """The agents, the pairs of opponents and the list of deals of a benchmark run.

    Attributes:
        agents: Specification of each agent by its name in results.
        pairs: Who plays whom.
        deals: The list.
    """

    agents: dict[str, str]
    pairs: tuple[tuple[str, str], ...]
    deals: DealList

    @property
    def arena(self) -> Arena:
        """The arena (agents, rules and deals) that plays the contest's games."""
        agents, names = tuple(self.agents.values()), tuple(self.agents)
        return Arena(agents, RULES, self.deals.seed, names=names, hands=self.deals.hands)

    def check_members(self) -> None:
        """Check that the contest's fixed opponents still choose their recorded moves.

        Raises:
            BenchmarkChangedError: If one is not.
        """
        for name in self.agents.keys() & FIELD.keys():
            check_member(FIELD[name])

    def settings(self) -> dict[str, Any]:
        """Return the settings that the contest's results file records: rules, deals, agents and hashes of moves."""
        return {
            "format": FORMAT,
            "rules": RULES.name,
            "deals": self.deals.settings,
            "agents": self.agents,
            "moves": {name: hash_moves(read_committed_moves()[name]) for name in self.agents if name in FIELD},
        }

    def store(self, path: Path | None) -> ResultStore[GameResult]:
        """Make a store for the contest's games, resuming the file if it exists.

        Args:
            path: The file; None keeps the games in memory only.

        Raises:
            ResultsFileError: If the file cannot be used.
            SettingsMismatchError: If it is of other agents or deals.
        """
        return self.arena.store(path, True, self.settings())

    def play(self, deals: Iterable[int], **how: Any) -> list[GameResult]:
        """Play the given deals of the contest, timing each decision individually.

        Args:
            deals: Their numbers.
            **how: More arguments of :func:`ddz_training.measure.contest.play_schedule`.
        """
        return play_schedule(self.arena, schedule_pairs(self.arena, deals, self.pairs), block=1, **how)


def contest_against_field(agent: str, deals: DealList, *, name: str = "", quick: bool = False) -> BenchmarkContest:
    """Make the contest of an agent against the benchmark's fixed opponents.

    Args:
        agent: Its specification.
        deals: The list.
        name: Its name in results; the specification by default.
        quick: Whether only the quick players of the field play.

    Raises:
        InvalidBenchmarkRequestError: If a player of the field has that name.
    """
    name = name.strip() or (f"{agent} #2" if agent in FIELD else agent)
    if name in FIELD:
        raise InvalidBenchmarkRequestError(f"{name!r} is a player of the field: give your agent another name")
    members = _specs_of_field(quick)
    return BenchmarkContest({name: agent, **members}, tuple((name, member) for member in members), deals)


def contest_within_field(deals: DealList, *, quick: bool = False) -> BenchmarkContest:
    """Make the contest in which every fixed opponent plays every other.

    Args:
        deals: The list.
        quick: Whether only the quick players play.
    """
    members = _specs_of_field(quick)
    return BenchmarkContest(members, tuple(itertools.combinations(members, 2)), deals)


def _specs_of_field(quick: bool) -> dict[str, str]:
    """Return the specifications of the fixed opponents by name, of all or of those in the quick benchmark."""
    return {member.name: member.agent for member in FIELD.values() if member.quick or not quick}


def play_benchmark(
    contest: BenchmarkContest,
    deals: int | Sequence[int],
    *,
    processes: int = 1,
    store: ResultStore[GameResult] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> list[GameResult]:
    """Play a benchmark contest after checking that its deals and its fixed opponents are unchanged.

    Args:
        contest: Agents, pairs and deals of a benchmark run.
        deals: How many deals per pair, the first of the list, or their numbers in it.
        processes: Worker processes; the results, except times, do not depend on them.
        store: Where each deal is kept as soon as it is played; deals that it holds are not played again.
        on_progress: Called with the deals, times pairs, that are done and all of them.

    Raises:
        InvalidBenchmarkRequestError: If the list has fewer deals, or an agent looks at every hand.
        BenchmarkChangedError: If deals or players of the field differ from those committed.
        UnknownAgentError: If an agent does not exist.
        AgentFailedError: If an agent cannot be made.
        WorkerDiedError: If a worker process died.
    """
    numbers = range(deals) if isinstance(deals, int) else deals
    contest.deals.check_count(max(numbers, default=-1) + 1)
    contest.deals.check()
    for name, spec in contest.agents.items():
        if name not in FIELD and agent_pool.query_agent(spec, is_cheating):
            raise InvalidBenchmarkRequestError(f"{name} looks at every hand: it has no place among those that do not")
    store = store or contest.store(None)
    if not store.has_units((deal, *pair) for deal in numbers for pair in contest.pairs):
        contest.check_members()
    return contest.play(numbers, processes=processes, store=store, on_progress=on_progress)


@dataclass(frozen=True)
class BenchmarkResults:
    """The games of a benchmark run, with the code versions and the agent files that produced them.

    Attributes:
        contest: Who played whom on which deals.
        records: The games.
        code: The code that played.
        files: By specification, the files that agents read, with digests.
        path: The file.
    """

    contest: BenchmarkContest
    records: Sequence[GameResult]
    code: tuple[str, ...]
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    path: Path | None = None

    @property
    def deals(self) -> int:
        """The number of deals that each pair has played, counted from the start of the list."""
        return len({record.deal for record in self.records})

    def summary(self) -> list[AgentResult]:
        """Compute two results per pair, one for each agent, with stakes as scores."""
        return summarize(self.records, SCORING)


def make_results(
    contest: BenchmarkContest, records: Sequence[GameResult], store: ResultStore[GameResult]
) -> BenchmarkResults:
    """Combine a contest's games with the code versions and agent files that their store has recorded.

    Args:
        contest: Who played whom.
        records: The games.
        store: Where they were kept: it knows the code and the agents' files.
    """
    settings = store.settings
    return BenchmarkResults(contest, records, tuple(settings["code"]), settings.get("files", {}), store.path)


def read_benchmark_file(path: Path) -> BenchmarkResults:
    """Read a results file, and check without playing that it is complete, consistent and of this benchmark.

    Raises:
        BenchmarkFileError: If it contradicts itself or the benchmark.
        ResultsFileError: If it is not a file of the benchmark.
    """
    settings, records = read_format(path, GameResult, FORMAT)
    try:
        agents = {name: FIELD[name].agent if name in FIELD else spec for name, spec in settings["agents"].items()}
        pairs = tuple(dict.fromkeys((record.a, record.b) for record in records))
        contest = BenchmarkContest(agents, pairs, find_deal_list(settings["deals"]["list"]))
        results = BenchmarkResults(contest, records, tuple(settings["code"]), settings.get("files", {}), path)
        contest.deals.check_count(results.deals)
    except DouDizhuError as error:
        raise BenchmarkFileError(f"{path}: {error}") from error
    except KeyError as error:
        raise BenchmarkFileError(f"{path} is not a file of the benchmark: its settings lack {error}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise BenchmarkFileError(f"{path} is not a file of the benchmark: {error}") from error
    for name, value in contest.settings().items():
        if settings.get(name) != value:
            raise BenchmarkFileError(f"{path}: its {name} are not the committed ones: {short_repr(settings.get(name))}")
    expected = [(deal, game) for deal in range(results.deals) for game in range(len(list_seatings(RULES)))]
    for pair, games in group_by_pair(records).items():
        if sorted((record.deal, record.game) for record in games) != expected:
            raise BenchmarkFileError(
                f"{path}: {' v '.join(pair)} must have every game of the {results.deals} deals exactly once"
            )
    return results


_outcome_of = operator.attrgetter("deal", "a", "b", "game", "seats", "winner", "win", "stake", "moves", "fault_by")
"""The fields in which two runs must agree: all but the times and the wording of a fault."""


def replay_sample(
    results: BenchmarkResults,
    sample: int | None,
    rng: np.random.Generator,
    *,
    processes: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> int:
    """Replay a random sample of a results file's deals, and check that every game ends as recorded.

    Args:
        results: What the file holds.
        sample: How many deals, each of all pairs; None for all of them.
        rng: Draws them.  The submitter of a file must not be able to predict them.
        processes: Worker processes.
        on_progress: Called with the deals, times pairs, that are done and all of them.

    Returns:
        How many deals, times pairs, ended as the file says.

    Raises:
        BenchmarkChangedError: If deals or players of the field differ here from those committed.
        UnknownAgentError: If an agent is not installed here.
        NotReproducedError: If a game ended differently.
    """
    contest = results.contest
    contest.deals.check()
    Provenance.of(contest.agents.values()).warn_of_changes(Provenance(results.code, results.files), results.path)
    contest.check_members()
    count = results.deals if sample is None else min(sample, results.deals)
    chosen = sorted(rng.choice(results.deals, count, replace=False).tolist())
    again = set(map(_outcome_of, contest.play(chosen, processes=processes, on_progress=on_progress)))
    different = [record for record in results.records if record.deal in chosen and _outcome_of(record) not in again]
    if different:
        shown = "; ".join(f"{record.a} v {record.b}, deal {record.deal}" for record in different[:_SHOWN])
        raise NotReproducedError(f"{len(different)} games ended otherwise than {results.path} says: {shown}")
    return count * len(contest.pairs)
