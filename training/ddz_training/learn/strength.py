"""Measurement of a policy's win rates during training, on duplicate deals played in the training process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from ddz_agents.neural.agent import ModelAgent
from ddz_agents.neural.model import PolicyModel
from ddz_env.core.rules import Rules
from ddz_env.playing.agent import Agent
from ddz_env.playing.generators import make_published_generator
from ddz_env.playing.registry import make_agent
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.measure.agent_pool import can_play_many_games
from ddz_training.measure.duplicate import DealPlayer, GameResult, Match
from ddz_training.measure.statistics import Interval
from ddz_training.measure.summaries import AgentResult, summarize

FIRST_DEAL = 1_000_000
"""Evaluations during training are used to choose; reported results are played on other deals."""

_POLICY_NAME = "the policy"
_DEALS_AT_ONCE = 50
"""Deals that are played at once."""


@dataclass(frozen=True)
class Evaluation:
    """A policy's win rates against one opponent after a given update: one line of ``evaluations.csv``.

    Attributes:
        update: Updates before it.
        opponent: The opponent.
        deals: Duplicate deals.
        wins: Win rate over both sides.
        low: Lower end of its 95 % interval.
        high: Upper end.
        landlord: Win rate as landlord.
        peasants: Win rate as peasants.
    """

    update: int
    opponent: str
    deals: int
    wins: float
    low: float
    high: float
    landlord: float
    peasants: float

    @property
    def interval(self) -> Interval:
        """The win rate over landlord and peasant games together, with its 95 % interval."""
        return Interval(self.wins, self.low, self.high, self.deals)

    @classmethod
    def of(cls, update: int, result: AgentResult) -> Evaluation:
        """Make the evaluation of a policy after ``update`` updates from its result against one opponent."""
        wins, roles = result.wins, (result.landlord_wins.mean, result.peasant_wins.mean)
        return cls(update, result.opponent, result.deals, wins.mean, wins.low, wins.high, *roles)


def measure_strength(
    model: PolicyModel,
    opponents: Sequence[str],
    deals: int,
    *,
    rules: str | Rules = "standard",
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> list[AgentResult]:
    """Play a policy against each opponent on duplicate deals from both sides, and return the results.

    Args:
        model: The policy.
        opponents: Specifications as for :func:`ddz_env.playing.registry.make_agent`.
        deals: Deals per opponent.
        rules: A preset's name or the rules.
        seed: Seed of the deals and the agents.
        stop: Called before every deal, or before every block of deals if both can play many at once; True ends the
            measurement without a result.

    Returns:
        The policy's result against each opponent, in their order.

    Raises:
        InvalidTrainingError: If there are no deals.
        UnknownAgentError: If an opponent does not exist.
    """
    if deals < 1:
        raise InvalidTrainingError(f"deals={deals} must be at least 1")
    agent, results = ModelAgent(model), []

    def make(spec: str) -> Agent:
        return agent if spec == _POLICY_NAME else make_agent(spec)

    for opponent in opponents:
        records: list[GameResult] = []
        pair = _POLICY_NAME, opponent
        player = DealPlayer(Rules.preset(rules), seed, False, make, make_generator=make_published_generator)
        with closing(player):
            block = _DEALS_AT_ONCE if all(can_play_many_games(player.agents.get(spec)) for spec in pair) else 1
            for first in range(FIRST_DEAL, FIRST_DEAL + deals, block):
                if stop():
                    return []
                numbers = range(first, min(first + block, FIRST_DEAL + deals))
                for games in player.play_block([Match(deal, pair) for deal in numbers]):
                    records += games
        results.append(summarize(records)[0])
    return results
