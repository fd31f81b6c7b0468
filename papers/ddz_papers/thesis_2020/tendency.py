"""Deal tendency (Wang Zhengfei, thesis, Peking University 2020, algorithms 1 and 2): whom the cards favour.

Two agents of different strength play a deal from both sides.  If the landlord wins both games, the deal leans to the
landlord; if the peasants win both, to the peasants; if one agent wins both, to neither.  A tendency depends on the
agents as much as on the deal: the further apart they are, the fewer deals have one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ddz_env import Rules, State
from ddz_env.support.options import Options
from ddz_training.measure.agent_pool import check_agents
from ddz_training.measure.duplicate import DealPlayer, GameResult, Match
from ddz_training.measure.errors import InvalidArenaError
from ddz_training.measure.store import OnProgress, ResultStore, ignore_progress
from ddz_training.measure.summaries import win_share
from ddz_training.measure.tendency_file import FORMAT, TENDENCIES, DealTendency


def find_tendency(records: Sequence[GameResult]) -> str:
    """Return whom a deal favours: the side that won both of its games, or ``none``.

    Raises:
        InvalidArenaError: If they are not the two games of a deal.
    """
    seats = [record.seats for record in records]
    if sorted(seat[:1] for seat in seats) != ["a", "b"]:
        raise InvalidArenaError(
            f"a tendency takes the two games of one deal, with sides exchanged, not games with the seats {seats}"
        )
    winners = {record.winner for record in records}
    return winners.pop() if len(winners) == 1 else TENDENCIES[0]


@dataclass(frozen=True)
class TendencyAgents(Options):
    """Strong and weak agents whose games show whom a deal favours; one of each is drawn for every deal.

    Attributes:
        top: The strong ones.
        bottom: The weak ones.
        rules: The rules, with a fixed landlord.
        seed: Seed of the deals, the agents and the draw.

    Raises:
        InvalidArenaError: If a kind has no agent, or the rules have an auction.
    """

    error = InvalidArenaError

    top: tuple[str, ...]
    bottom: tuple[str, ...]
    rules: Rules = Rules()  # noqa: RUF009  # frozen
    seed: int = 0

    def check(self) -> None:
        """Refuse an empty ``top`` or ``bottom``, and rules with an auction."""
        if not self.top or not self.bottom:
            raise InvalidArenaError(
                f"a tendency needs an agent of each kind, not top={self.top} and bottom={self.bottom}"
            )
        if self.rules.bidding != "fixed":
            raise InvalidArenaError(f"a tendency needs a fixed landlord, which the {self.rules.name} rules do not have")

    def pair(self, deal: int) -> tuple[str, str]:
        """Draw the strong and the weak agent that play a deal."""
        rng = np.random.default_rng([self.seed, deal])
        return self.top[rng.integers(len(self.top))], self.bottom[rng.integers(len(self.bottom))]

    def player(self) -> DealPlayer:
        """Make a deal player with these agents' rules and seed."""
        return DealPlayer(self.rules, self.seed, timing=False)

    def measure(self, player: DealPlayer, deal: int) -> DealTendency:
        """Play a deal from both sides, and return whom its cards favour (algorithm 1)."""
        top, bottom = self.pair(deal)
        records, state = player.play(Match(deal, (top, bottom))), State.new(self.seed, self.rules, deal)
        hands = " ".join(str(state.hand(seat)) for seat in range(self.rules.players))
        wins = sum(win_share(record, "a") > 1 / 2 for record in records)
        return DealTendency(deal, find_tendency(records), top, bottom, wins, hands)


class TendencyWorker:
    """A worker that plays deals in one process, and returns which side each deal favours.

    Args:
        judges: Who plays them.
    """

    def __init__(self, judges: TendencyAgents) -> None:
        self._judges, self._player = judges, judges.player()
        self.close = self._player.close

    def work(self, deal: int) -> list[DealTendency]:
        """Play the deal with a given number, and return which side it favours."""
        return [self._judges.measure(self._player, deal)]


def measure_tendencies(
    judges: TendencyAgents,
    deals: int,
    path: Path | None = None,
    *,
    first_deal: int = 0,
    processes: int = 1,
    on_progress: OnProgress = ignore_progress,
) -> list[DealTendency]:
    """Play consecutive deals from both sides, and return which side each deal favours.

    Args:
        judges: Who plays them.
        deals: How many.
        path: Where to save them, one per line; a file of an earlier run is resumed.
        first_deal: Number of the first.
        processes: Worker processes; the results do not depend on them.
        on_progress: Called with how many are done.

    Raises:
        UnknownAgentError: If an agent does not exist.
        SettingsMismatchError: If the file is of other judges.
    """
    agents = (*judges.top, *judges.bottom)
    check_agents(agents, rules=judges.rules)
    who = {"top": list(judges.top), "bottom": list(judges.bottom)}
    settings = {"format": FORMAT, "rules": judges.rules.name, "seed": judges.seed, **who}
    store = ResultStore(DealTendency, path, settings, ("deal",), agents=agents)
    tasks = {(deal,): deal for deal in range(first_deal, first_deal + deals)}
    return store.run_tasks(tasks, functools.partial(TendencyWorker, judges), processes, on_progress)


def cumulative_shares(tendencies: Sequence[str]) -> npt.NDArray[np.float64]:
    """Compute the shares of all tendencies after each deal, ``[deals, 3]`` in the order of :data:`TENDENCIES`."""
    marks = np.array([[label == kind for kind in TENDENCIES] for label in tendencies], dtype=np.float64).reshape(-1, 3)
    return np.cumsum(marks, axis=0) / np.arange(1, len(marks) + 1)[:, None]


def count_tendencies(judged: Sequence[DealTendency]) -> Mapping[str, int]:
    """Count the deals that favour the landlord, the peasants, or neither."""
    return {tendency: sum(deal.tendency == tendency for deal in judged) for tendency in TENDENCIES}
