"""A belief network's training: it guesses hidden hands in games whose every seat is played by an agent drawn for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from ddz_agents.belief.conduct import TALLIES, note_actions
from ddz_agents.belief.layers import Lesson, can_learn, describe_lesson
from ddz_agents.belief.model import BeliefArchitecture, StoredBelief, write_belief
from ddz_agents.belief.network import BeliefNetwork
from ddz_agents.neural.tensor_file import Arrays
from ddz_agents.neural.weights import module_arrays
from ddz_env.core.engine.layout import STAGE, STAGE_PLAY
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn import checkpoint, run
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.ppo.opponents import FrozenAgent, agents_state, restore_agents
from ddz_training.learn.settings import Count, Positive, PositiveShare, Share, TrainingSettings
from ddz_training.measure.match.provenance import Provenance

BELIEF = "belief.safetensors"
PLAYERS = ("policy", "policy:temperature=1", "rules", "rules-tuned", "isuct:iterations=100", "random")
SHARES = (0.35, 0.15, 0.2, 0.1, 0.12, 0.08)

_SEATS = 3
_LAST_RATE = 0.02
_BITS = 1 / math.log(2)


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


@dataclass
class BeliefProgress:
    """How far a belief network is.

    Attributes:
        positions: Positions learned from so far.
        bits: What the hidden hands of the last step cost under the network, in bits a position.
        plain: What they cost under plain dealing.
    """

    positions: int
    bits: float
    plain: float


class BeliefTraining(run.Training, checkpoint.Resumable):
    """A belief network that learns by maximum likelihood, from games of mixed players side by side.

    Args:
        config: The settings.
        threads: Threads; None for one a core.

    Attributes:
        network: Who learns.
        positions: Positions learned from so far.
    """

    kind = "ddz-belief-checkpoint", 1
    config_type = BeliefConfig
    grows = "positions"

    def __init__(self, config: BeliefConfig, threads: int | None = 1) -> None:
        self.config = config
        if threads is not None:
            torch.set_num_threads(threads)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network = BeliefNetwork(config.architecture)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=config.learning_rate, fused=True)
        games, seed = config.num_games, config.seed
        self._batch = SelfPlayBatch(games, config.rules, seed, threads, concealed=True)
        rngs = [np.random.default_rng([seed, 2, place]) for place in range(len(config.players))]
        self._rngs = [np.random.default_rng([seed, 1]), *rngs]
        self._agents = [FrozenAgent(name, self._batch, rng) for name, rng in zip(config.players, rngs, strict=True)]
        # Of each game: the player of every seat (an index into the settings' players), how every seat has played, and
        # the trick that it is in.
        self._kinds = np.zeros((games, _SEATS), np.int64)
        self._tallies = np.zeros((games, _SEATS, len(TALLIES)), np.int32)
        self._tricks = np.zeros((games, 3), np.int32)
        self._memory: Arrays = {"kinds": self._kinds, "tallies": self._tallies, "tricks": self._tricks}
        self._begin(np.arange(games))
        self.positions = 0
        self.provenance = Provenance.of(config.players, *checkpoint.SOURCE)

    def step(self) -> BeliefProgress:
        """Learn from one position of every game that has one, and play on."""
        lesson = self._lesson()
        bits = plain = 0.0
        if count := len(lesson.hands):
            chances = self.network(*map(torch.from_numpy, lesson))
            self.optimizer.zero_grad()
            (-chances.mean()).backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.max_gradient)
            run.step_size(self.optimizer, self.config.learning_rate * max(_LAST_RATE, 1.0 - self.share()))
            self.optimizer.step()
            bits = -_BITS * float(chances.detach().mean())
            dealt = np.take_along_axis(lesson.logs, lesson.hands[:, :, None], axis=2)
            plain = -_BITS * float(dealt.sum()) / count
            self.positions += count
        self._play()
        return BeliefProgress(self.positions, bits, plain)

    def _lesson(self) -> Lesson:
        """The positions in which a seat chooses a move, has a choice, and cannot place some cards."""
        batch = self._batch
        hidden = np.empty(batch.num_games, np.bool_)
        can_learn(batch.observation, hidden)
        choosing = (batch.rows[:, STAGE] == STAGE_PLAY) & (np.count_nonzero(batch.mask, axis=1) > 1)
        rows = np.flatnonzero(hidden & choosing)
        return describe_lesson(batch.observation[rows], batch.concealed[rows], self._tallies[rows], batch.seat[rows])

    def _play(self) -> None:
        """Play an action in every game."""
        batch = self._batch
        acting = self._kinds[np.arange(batch.num_games), batch.seat]
        actions = np.zeros(batch.num_games, np.int64)
        for place, agent in enumerate(self._agents):
            games = np.flatnonzero(acting == place)
            if len(games):
                actions[games] = agent.actions(games)
        note_actions(batch.rows, actions, self._tallies, self._tricks)
        batch.step(actions)
        self._begin(np.flatnonzero(batch.done))

    def _begin(self, games: npt.NDArray[np.intp]) -> None:
        """Draw the players of games that begin."""
        config, rng = self.config, self._rngs[0]
        shares = np.array(config.shares or [1.0] * len(config.players))
        kinds = rng.choice(len(shares), (len(games), _SEATS), p=shares / shares.sum())
        alike = rng.random(len(games)) < config.alike
        kinds[alike, 2] = kinds[alike, 1]
        self._kinds[games], self._tallies[games], self._tricks[games] = kinds, 0, 0

    def share(self) -> float:
        """Of the positions of the settings."""
        return float(self.positions / self.config.positions)

    def save(self, place: Path) -> None:
        """Write the weights and the checkpoint into a folder."""
        notes = {"positions": self.positions, "seed": self.config.seed, "players": list(self.config.players)}
        notes |= self.provenance.settings()
        stored = StoredBelief(self.config.architecture, module_arrays(self.network, ""), self.config.rules, notes)
        write_belief(place / BELIEF, stored)
        checkpoint.save_checkpoint(place / checkpoint.CHECKPOINT, self)

    def close(self) -> None:
        """Release what the players hold."""
        for agent in self._agents:
            agent.close()

    def networks(self) -> dict[str, nn.Module]:
        """See :meth:`~ddz_training.learn.checkpoint.Resumable.networks`."""
        return {"network.": self.network}

    def others(self) -> tuple[Arrays, dict[str, Any]]:
        """See :meth:`~ddz_training.learn.checkpoint.Resumable.others`."""
        arrays, plain = checkpoint.parted("batch.", self._batch.state_dict())
        arrays |= agents_state(self._agents) | {f"memory.{name}": part for name, part in self._memory.items()}
        games = {"batch": plain, "generators": [rng.bit_generator.state for rng in self._rngs]}
        return {f"games.{name}": part for name, part in arrays.items()}, {"positions": self.positions, "games": games}

    def restore_others(self, arrays: Arrays, about: dict[str, Any], where: str) -> None:
        """See :meth:`~ddz_training.learn.checkpoint.Resumable.restore_others`."""
        games, plain = checkpoint.behind("games.", arrays), about["games"]
        self._batch.load_state_dict(checkpoint.behind("batch.", games) | plain["batch"])
        for name, part in self._memory.items():
            part[:] = games[f"memory.{name}"]
        restore_agents(self._agents, games)
        for rng, state in zip(self._rngs, plain["generators"], strict=True):
            rng.bit_generator.state = state
        self.positions = int(about["positions"])
