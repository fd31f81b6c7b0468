"""The settings of a belief network's training."""

from __future__ import annotations

from dataclasses import dataclass, field

from ddz_agents.belief.model import BeliefArchitecture
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.settings import Count, Positive, PositiveShare, Share, TrainingSettings

PLAYERS = ("policy", "policy:temperature=1", "rules", "rules-tuned", "isuct:iterations=100", "random")
SHARES = (0.35, 0.15, 0.2, 0.1, 0.12, 0.08)


@dataclass(frozen=True)
class BeliefConfig(TrainingSettings):
    """The settings of a belief network's training.

    The default players leave out `rlcard-rule` and `rollout`, against which searches are judged.

    Attributes:
        positions: Positions to learn from, each seen once; the step size goes down in a straight line over them.
        architecture: The sizes of the network.
        players: Who plays the games, as for ``ddz arena``; a draw for every game and seat.
        shares: How often each of them plays; none for equally often.
        alike: Share of the games in which the last seat's player is the one of the seat before: as a rule that is both
            peasants.
        num_games: Games that are played side by side; a gradient step takes one position of each that has a choice.
        learning_rate: Adam's step size at first.
        max_gradient: Norm at which the gradient is clipped.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    positions: Count = 3_000_000
    architecture: BeliefArchitecture = field(default_factory=BeliefArchitecture)
    players: tuple[str, ...] = PLAYERS
    shares: tuple[PositiveShare, ...] = SHARES
    alike: Share = 0.7
    num_games: Count = 1024
    learning_rate: Positive = 2e-3
    max_gradient: Positive = 1.0

    def check(self) -> None:
        """Refuse players without a share, and shares without a player."""
        super().check()
        if not self.players or (self.shares and len(self.shares) != len(self.players)):
            raise InvalidTrainingError(
                f"players names {len(self.players)} agents and shares has {len(self.shares)}: name at least one, and "
                "give each a share, or none at all"
            )
