"""Playing the benchmark: pairs of agents on the deals of a list, resumable, in as many processes as wanted."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from pathlib import Path

from ddz_env.playing.agent import cheats
from ddz_training.measure.benchmark.field import FIELD, RULES, DealList, check_member
from ddz_training.measure.match.duplicate import KEY, DealPlayer, DealWorker, GameRecord, Match, asked, check_agents
from ddz_training.measure.match.errors import InvalidBenchmarkRequestError
from ddz_training.measure.match.results import OnProgress, ResultStore, no_progress

GAMES_FORMAT = "ddz-benchmark-games-1"
_GAMES_A_DEAL = 2


@dataclass(frozen=True)
class Contest:
    """Who plays whom on which deals.

    Attributes:
        agents: Specification of each agent by its name in results.
        pairs: Who plays whom.
        deals: The list.
    """

    agents: dict[str, str]
    pairs: tuple[tuple[str, str], ...]
    deals: DealList

    def check(self) -> None:
        """Make sure that the deals are the committed ones, and that all agents can be made.

        Raises:
            FrozenChangedError: If the deals are others.
            UnknownAgentError: If an agent does not exist.
            AgentFailedError: If one cannot be made.
        """
        self.deals.check()
        check_agents(self.agents.values())

    def check_members(self) -> None:
        """Make sure that the players of the field are the committed ones.

        Raises:
            FrozenChangedError: If one is not.
        """
        for name in self.agents.keys() & FIELD.keys():
            check_member(name)

    def match(self, deal: int, a: str, b: str) -> Match:
        """One deal of one pair."""
        return Match((a, b), deal, (self.agents[a], self.agents[b]))

    def store(self, path: Path | None) -> ResultStore[GameRecord]:
        """Where games are kept; a file is resumed.

        Args:
            path: The file, ``.csv`` or ``.jsonl``; None keeps the games in memory only.

        Raises:
            ResultsFileError: If the file cannot be used.
            SettingsMismatchError: If it is of other agents or deals.
        """
        settings = {"format": GAMES_FORMAT, "agents": self.agents, "deals": self.deals.settings}
        agents = self.agents.values()
        return ResultStore(GameRecord, path, settings, KEY, agents=agents, per_key=_GAMES_A_DEAL)

    def player(self) -> DealPlayer:
        """What plays a deal; an agent that fails loses that game."""
        return DealPlayer(RULES, self.deals.seed, on_fault="lose")


def against_field(agent: str, deals: DealList, *, name: str = "", quick: bool = False) -> Contest:
    """An agent against the field.

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
    members = _members(quick)
    return Contest({name: agent, **members}, tuple((name, member) for member in members), deals)


def field_contest(deals: DealList, *, quick: bool = False) -> Contest:
    """Every player of the field against every other.

    Args:
        deals: The list.
        quick: Whether only the quick players play.
    """
    members = _members(quick)
    return Contest(members, tuple(itertools.combinations(members, 2)), deals)


def _members(quick: bool) -> dict[str, str]:
    """The field, or its quick players: the specification of each by name."""
    return {member.name: member.agent for member in FIELD.values() if member.quick or not quick}


def play_contest(
    contest: Contest,
    deals: int,
    *,
    processes: int = 1,
    store: ResultStore[GameRecord] | None = None,
    on_progress: OnProgress = no_progress,
) -> list[GameRecord]:
    """Make sure that deals and field are the committed ones, and play.

    Args:
        contest: Who plays whom on which deals.
        deals: How many deals a pair, the first of the list.
        processes: Worker processes; the results, except times, do not depend on them.
        store: Where each deal is kept as soon as it is played; deals that it holds are not played again.
        on_progress: Told how many deals, times pairs, are done.

    Raises:
        InvalidBenchmarkRequestError: If the list has not so many deals, or an agent looks at every hand.
        FrozenChangedError: If deals or players of the field are others than those committed.
        UnknownAgentError: If an agent does not exist.
        AgentFailedError: If an agent cannot be made.
        WorkerDiedError: If a worker process died.
    """
    contest.deals.check_count(deals)
    contest.check()
    _check_fair(contest)
    tasks = {(deal, a, b): contest.match(deal, a, b) for deal in range(deals) for a, b in contest.pairs}
    kept = store or contest.store(None)
    if not tasks.keys() <= kept.found.keys():
        contest.check_members()
    start = functools.partial(DealWorker[list[GameRecord]], list, contest.player)
    return kept.fill(tasks, start, processes, on_progress)


def _check_fair(contest: Contest) -> None:
    for name, spec in contest.agents.items():
        if name not in FIELD and asked(spec, cheats):
            raise InvalidBenchmarkRequestError(f"{name} looks at every hand: it has no place among those that do not")
