"""Training of the belief network, which predicts hidden hands, on games between randomly drawn players.

:mod:`ddz_agents.belief.model` says what the network computes; it learns by maximum likelihood, each position once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from ddz_agents.belief import model
from ddz_agents.belief.play_style import MOVE_STATISTICS, count_actions
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import new_linear, new_trunk
from ddz_agents.neural.weights import module_arrays
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine.layout import STAGE, STAGE_PLAY
from ddz_env.core.observation import CONCEALED
from ddz_env.core.rules import Rules
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.loop import Training
from ddz_training.learn.ppo.opponents import FrozenAgent
from ddz_training.learn.settings import Count, Positive, PositiveShare, Share, TrainingSettings
from ddz_training.learn.threads import take_gradient_step
from ddz_training.measure.provenance import Provenance

BELIEF = "belief.safetensors"
DEFAULT_PLAYERS = ("policy", "policy:temperature=1", "rules", "rules-tuned", "isuct:iterations=100", "random")
DEFAULT_SHARES = (0.35, 0.15, 0.2, 0.1, 0.12, 0.08)

_SEATS = 3
_HAND_NEXT = CONCEALED.offsets["hand_next"]
_BITS_PER_NAT = 1 / math.log(2)


@dataclass(frozen=True)
class BeliefConfig(TrainingSettings):
    """The settings for training a belief network.

    The default players leave out `rlcard-rule` and `rollout`, against which searches are judged.

    Attributes:
        positions: Positions to learn from; the step size goes down in a straight line over them.
        architecture: The sizes of the network.
        players: Who plays the games, as for ``ddz arena``; drawn for every game and seat.
        shares: How often each of them plays; empty for equally often.
        same_peasants_share: Share of the games in which the last two seats, as a rule both peasants, have the same
            player.
        num_envs: Games that are played side by side; a gradient step takes one position of each that has a choice.
        learning_rate: Adam's step size at first.
        max_grad_norm: Norm at which the gradient is clipped.

    Raises:
        InvalidTrainingError: If a setting is out of range.
        InvalidRulesError: If the preset is unknown.
    """

    positions: Count = 3_000_000
    architecture: model.BeliefArchitecture = field(default_factory=model.BeliefArchitecture)
    players: tuple[str, ...] = DEFAULT_PLAYERS
    shares: tuple[PositiveShare, ...] = DEFAULT_SHARES
    same_peasants_share: Share = 0.7
    num_envs: Count = 1024
    learning_rate: Positive = 2e-3
    max_grad_norm: Positive = 1.0

    def check(self) -> None:
        """Check that there are as many shares as players, if any, and that the rules hide two opponents' cards."""
        super().check()
        rules = Rules.preset(self.rules)
        if rules.players != 3 or rules.open_hands or rules.half_deck:
            raise InvalidTrainingError(
                f"the belief network needs rules for three players with hidden hands and the full deck, not the "
                f"{rules.name} rules"
            )
        if not self.players:
            raise InvalidTrainingError("players names no agent: name at least one")
        if self.shares and len(self.shares) != len(self.players):
            raise InvalidTrainingError(
                f"players names {len(self.players)} agents and shares has {len(self.shares)} numbers: give each agent "
                "a share, or none at all"
            )


class BeliefNetwork(nn.Module):
    """A network for the probability of hidden hands; untrained, it gives their probability under random dealing.

    Args:
        architecture: The sizes.
    """

    def __init__(self, architecture: model.BeliefArchitecture) -> None:
        super().__init__()
        layers, head = architecture.layers, architecture.head
        self.trunk, self.context = new_trunk(layers), new_linear(layers, "context")
        self.counts = nn.Parameter(0.1 * torch.randn(head["counts"]))
        self.logits = nn.Parameter(torch.zeros(head["logits"]))
        self.logits_bias = nn.Parameter(torch.zeros(head["logits_bias"]))

    def forward(self, columns: Tensor, hands: Tensor, plain: Tensor) -> Tensor:
        """Compute the log-probability of each hand, shape ``[n]``, from the parts of a :class:`BeliefBatch`."""
        held = functional.one_hot(hands, model.COUNTS)[:, :, 1:].float()
        added = torch.einsum("nrc,rch->nrh", held, self.counts)
        higher = added.flip(1).cumsum(1).flip(1) - added
        hidden = torch.relu(self.context(self.trunk(columns)).unsqueeze(1) + higher)
        logits = torch.einsum("nrh,rch->nrc", hidden, self.logits) + self.logits_bias
        chances = torch.log_softmax(plain + logits, 2)
        return chances.gather(2, hands.unsqueeze(2)).squeeze(2).sum(1)


class BeliefBatch(NamedTuple):
    """A training batch of the belief network: its inputs, and the hands to predict.

    Attributes:
        columns: Its input, shape ``[n, COLUMNS]``, float32.
        hands: The hidden cards that the next seat holds, by rank, shape ``[n, 15]``, int64.
        plain: Log-probabilities of each count under plain dealing, given the higher ranks, shape ``[n, 15, 5]``,
            float32; minus infinity where impossible.
    """

    columns: Floats
    hands: model.Hands
    plain: Floats


def make_belief_batch(
    observations: Bytes, concealed: Bytes, tallies: npt.NDArray[np.int32], seats: npt.NDArray[np.int8]
) -> BeliefBatch:
    """Convert positions with known hidden cards to a training batch of the belief network.

    Args:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8; in each the two other seats share the hidden cards
            (:func:`~ddz_agents.belief.model.hidden_cards`).
        concealed: What the observers do not see, shape ``[n, CONCEALED.size]``, int8.
        tallies: How the seats of each game have played, shape ``[n, 3, len(MOVE_STATISTICS)]``, int32.
        seats: The observers, shape ``[n]``.
    """
    pools, _ = model.hidden_cards(observations)
    hands = model.hidden_hands(observations, concealed[:, _HAND_NEXT : _HAND_NEXT + NUM_RANKS])
    plain = model.plain_log_probabilities(pools, np.cumsum(pools, axis=1), np.cumsum(hands, axis=1))
    return BeliefBatch(model.encode_seats(observations, tallies, seats), hands, plain)


@dataclass
class BeliefLine:
    """The result of one gradient step in the training of a belief network.

    Attributes:
        decisions: Positions learned from so far.
        bits: The cost of the step's hidden hands under the network, in bits per position.
        plain: Their cost under plain dealing.
    """

    decisions: int
    bits: float
    plain: float

    def __str__(self) -> str:
        return f"{self.bits:.2f} bits per hand, plain dealing {self.plain:.2f}"


class BeliefTraining(Training):
    """The maximum-likelihood training of a belief network on games between mixed players.

    Args:
        config: The settings.
        threads: Threads that step the games, and PyTorch's, on which results depend; None for one per core and
            PyTorch's own choice.

    Attributes:
        network: The network.
    """

    line_type = BeliefLine
    tables: ClassVar[Mapping[type, str]] = {}
    config: BeliefConfig

    def __init__(self, config: BeliefConfig, threads: int | None = 1) -> None:
        super().__init__(config)
        if threads is not None:
            torch.set_num_threads(threads)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = BeliefNetwork(config.architecture)
        self._optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate, fused=True)
        games, seed = config.num_envs, config.seed
        self._batch = SelfPlayBatch(games, config.rules, seed, threads, concealed=True)
        rngs = [np.random.default_rng([seed, 2, index]) for index in range(len(config.players))]
        self._agents = [FrozenAgent(name, self._batch, rng) for name, rng in zip(config.players, rngs, strict=True)]
        self._rng = np.random.default_rng([seed, 1])
        # Of each game: the player of every seat (an index into the settings' players), how every seat has played, and
        # the trick that it is in.
        self._seat_players = np.zeros((games, _SEATS), np.int64)
        self._tallies = np.zeros((games, _SEATS, len(MOVE_STATISTICS)), np.int32)
        self._tricks = np.zeros((games, 3), np.int32)
        self._draw_players(np.arange(games))
        self.provenance = Provenance.of(config.players)

    def learn(self) -> dict[str, float]:
        """Take one gradient step on the current positions in which a seat has a choice, then play all games on."""
        batch, result = self._make_batch(), {"bits": 0.0, "plain": 0.0}
        if count := len(batch.hands):
            chances = self.network(*map(torch.from_numpy, batch))
            self._optimizer.zero_grad()
            (-chances.mean()).backward()
            config, spent = self.config, self.counters.decisions / self.config.positions
            take_gradient_step(self._optimizer, config.learning_rate, spent, config.max_grad_norm)
            self.counters.decisions += count
            dealt = np.take_along_axis(batch.plain, batch.hands[:, :, None], axis=2)
            result = {
                "bits": -_BITS_PER_NAT * float(chances.detach().mean()),
                "plain": -_BITS_PER_NAT * float(dealt.sum()) / count,
            }
        self._play()
        return result

    def _make_batch(self) -> BeliefBatch:
        """Create a batch from the games in which the seat to act has a choice and cannot see some cards."""
        batch = self._batch
        choosing = (batch.rows[:, STAGE] == STAGE_PLAY) & (np.count_nonzero(batch.mask, axis=1) > 1)
        rows = np.flatnonzero(choosing & (model.hidden_cards(batch.observation)[1] >= 0))
        return make_belief_batch(batch.observation[rows], batch.concealed[rows], self._tallies[rows], batch.seat[rows])

    def _play(self) -> None:
        """Ask the players of all games for their choices, and play one action in each game."""
        batch = self._batch
        acting = self._seat_players[np.arange(batch.num_games), batch.seat]
        actions = np.zeros(batch.num_games, np.int64)
        for index, agent in enumerate(self._agents):
            games = np.flatnonzero(acting == index)
            if len(games):
                actions[games] = agent.choose_actions(games)
        count_actions(batch.rows, actions, self._tallies, self._tricks)
        batch.step(actions)
        self._draw_players(np.flatnonzero(batch.done))

    def _draw_players(self, games: npt.NDArray[np.intp]) -> None:
        """Draw the player of each seat in the games that are about to begin."""
        shares = np.array(self.config.shares or [1.0] * len(self.config.players))
        kinds = self._rng.choice(len(shares), (len(games), _SEATS), p=shares / shares.sum())
        alike = self._rng.random(len(games)) < self.config.same_peasants_share
        kinds[alike, 2] = kinds[alike, 1]
        self._seat_players[games], self._tallies[games], self._tricks[games] = kinds, 0, 0

    def save(self, folder: Path) -> None:
        """Write the network's weights into the folder; training of a belief network cannot be resumed."""
        notes = {"positions": self.counters.decisions, "seed": self.config.seed, "players": list(self.config.players)}
        notes |= self.provenance.to_settings()
        weights = module_arrays(self.network)
        model.save_belief(folder / BELIEF, self.config.architecture, weights, self.config.rules, notes)

    def close(self) -> None:
        """Close the agents that play the training games."""
        for agent in self._agents:
            agent.close()
