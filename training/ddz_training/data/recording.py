"""The recording of agents' games: an agent against itself, duplicate deals of two, or one agent per seat.

A game of a match is the very game that the arena plays with the same agents, seed and deal.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ddz_env import Move, Rules
from ddz_env.playing.agent import Decision, is_cheating
from ddz_env.playing.game import check_is_move
from ddz_env.support.options import Options
from ddz_training.data.games import ActionStatistics, DataSetError, RecordedGame, games_settings
from ddz_training.measure.agent_pool import check_agents, query_agent
from ddz_training.measure.duplicate import LETTERS, DealPlayer, Match, describe_given_hands, list_seatings
from ddz_training.measure.store import OnProgress, ResultStore, ignore_progress


@dataclass(frozen=True)
class Recording(Options):
    """The settings of a recording (agents, rules, seed), which determine its games.

    Attributes:
        agents: One agent, which plays itself; two, which play each deal from both sides as in the arena; or one per
            seat.
        rules: The rules.
        seed: Seed of the deals and the agents.
        visits: Whether to note what the searches think; all agents must report it (``decide``) and not cheat.
        hands: The hands of the deals (:mod:`ddz_training.measure.deal_file`); dealt from the seed if empty.

    Raises:
        DataSetError: If there is another number of agents.
    """

    error = DataSetError

    agents: tuple[str, ...]
    rules: Rules = Rules()  # noqa: RUF009  # frozen
    seed: int = 0
    visits: bool = False
    hands: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise an error unless there are one, two or as many agents as seats."""
        if len(self.agents) not in (1, 2, self.rules.players):
            raise DataSetError(
                f"{len(self.agents)} agents: name one to play itself, two to play each deal from both sides, or "
                f"{self.rules.players}, one per seat"
            )

    @property
    def seatings(self) -> tuple[str, ...]:
        """The seating of each game of a deal, with a letter per seat for its agent, such as ``abb``.

        Example:
            >>> [Recording(agents).seatings for agents in (("rules",), ("rules", "random"), ("rules",) * 3)]
            [('aaa',), ('abb', 'baa'), ('abc',)]
        """
        if len(self.agents) == 2:
            return list_seatings(self.rules)
        return (("a" * self.rules.players) if len(self.agents) == 1 else LETTERS[: self.rules.players],)

    def store(self, path: str | Path | None = None) -> ResultStore[RecordedGame]:
        """Create a store for the recorded games, continuing a file that holds the same recording.

        Args:
            path: The file, ``.sqlite``; None keeps the games in memory only.

        Raises:
            ResultsFileError: If the file cannot be used.
            SettingsMismatchError: If it holds another recording.
            InUseError: If another process has the file.
            UnknownAgentError: If an agent does not exist.
            AgentFailedError: If one cannot be made.
            DataSetError: If visits are wanted of an agent that does not report them, or cheats.
        """
        check_agents(self.agents, rules=self.rules)
        for spec in self.agents if self.visits else ():
            if not query_agent(spec, lambda agent: hasattr(agent, "decide") and not is_cheating(agent)):
                raise DataSetError(
                    f"{spec!r} has no visits to record: name agents whose method decide reports visits and that do not "
                    "look at hidden cards, or record without visits"
                )
        given = describe_given_hands(self.hands)
        settings = games_settings(self.agents, self.rules, self.seed, visits=self.visits, **given)
        return ResultStore(RecordedGame, path, settings, ("deal",), per_key=len(self.seatings), agents=self.agents)


class GameRecorder:
    """A worker that plays deals and records their games.

    Args:
        recording: Agents, rules and seed.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._player = DealPlayer(recording.rules, recording.seed, timing=False, hands=recording.hands)
        self.close = self._player.close

    def work(self, deal: int) -> list[RecordedGame]:
        """Play and record every game of a deal.

        Raises:
            AgentFailedError: If an agent fails: a data set has no games that were not played to their end.
        """
        return [self._play(deal, game, seats) for game, seats in enumerate(self._recording.seatings)]

    def _play(self, deal: int, game: int, seats: str) -> RecordedGame:
        recording, moves, statistics = self._recording, list[Move](), list[list[ActionStatistics]]()

        def noted(agent: Any, view: Any, rng: np.random.Generator) -> Move:
            """Ask an agent for its move, and note its choice and its search statistics."""
            decision = agent.decide(view, rng) if recording.visits else Decision(agent.act(view, rng))
            moves.append(check_is_move(decision.move))
            statistics.append(_list_statistics(decision))
            return moves[-1]

        over = self._player.play_game(Match(deal, recording.agents), game, seats, noted).state
        return RecordedGame.of(
            self._player.deal_state(deal), moves, over, deal=deal, game=game, seats=seats, statistics=statistics
        )


def _list_statistics(decision: Decision) -> list[ActionStatistics]:
    values = {action: float(value) for action, value in decision.values.items()}
    visited = [(action, visits) for action, visits in sorted(decision.visits.items()) if visits > 0]
    return [ActionStatistics(int(action), int(visits), values.get(action)) for action, visits in visited]


def record_games(
    recording: Recording,
    deals: int | Sequence[int],
    *,
    first_deal: int = 0,
    processes: int = 1,
    store: ResultStore[RecordedGame] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> list[RecordedGame]:
    """Play deals with the agents of a recording, and return the record of every game.

    Args:
        recording: Agents, rules and seed.
        deals: How many deals, or their numbers.
        first_deal: Number of the first of so many deals.
        processes: Worker processes; the games do not depend on them.
        store: Where to keep each deal as soon as it and all before it are done (:meth:`Recording.store`).  Deals that
            it already holds are not played again.
        on_progress: Called with how many deals are done.

    Returns:
        The games of all these deals, in their order.

    Raises:
        DataSetError: If there are no deals.
        AgentFailedError: If an agent fails.
        WorkerDiedError: If a worker died.
    """
    numbers = range(first_deal, first_deal + deals) if isinstance(deals, int) else deals
    if not numbers:
        raise DataSetError(f"deals={deals} must be at least 1, or at least one number")
    if first_deal < 0:
        raise DataSetError(f"first_deal={first_deal} must be at least 0")
    tasks = {(deal,): deal for deal in numbers}
    return (store or recording.store()).run_tasks(
        tasks, functools.partial(GameRecorder, recording), processes, on_progress
    )
