"""A run of self-play shared by several processes: each plays games of its own, and they average their gradients.

What :mod:`ddz_training.learn.ppo` does, with everything that the networks read kept where they are.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from benchmarks.forms.network import FormedPolicy
from ddz_agents.neural.columns import describe_afterstates, describe_games, describe_observations
from ddz_agents.neural.model import Bytes, Floats
from ddz_agents.neural.network import Critic, legal_log_probabilities
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import load_weights
from ddz_env.core.actions import NUM_ACTIONS
from ddz_env.core.observation import OBSERVATION
from ddz_env.envs.batch import SelfPlayBatch
from ddz_training.learn.climb import RECIPE
from ddz_training.learn.ppo.config import SelfPlayConfig
from ddz_training.learn.ppo.games import Collector, Rollout
from ddz_training.learn.ppo.opponents import PastSelves
from ddz_training.learn.ppo.ppo import seat_advantages

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SEED = 20261126
STEPS = 64
_WARM_UP, _REFRESH = 30, 50
_KICKERS = OBSERVATION.offsets["stage"] + 2
_LIKELY = float(np.log(0.01))
_STATISTICS = ("policy", "entropy", "divergence", "clipped", "pulled")


class Kind(NamedTuple):
    """What distinguishes a run.

    Attributes:
        form: Of its network.
        clip: ε of the clipped objective.
        pull: Weight of the divergence from a reference, the running average as it was up to 50 updates ago.
    """

    form: str = "standard"
    clip: float = 0.2
    pull: float = 0.0


RUNS = {
    "control": Kind(),
    "small": Kind("small"),
    "large": Kind("large"),
    "clip": Kind(clip=0.1),
    "pull": Kind(pull=0.1),
}


@dataclass
class Shared:
    """What the processes of a run share.

    Attributes:
        gradients: Shape ``[2, processes, weights]``; they take turns.
        numbers: Shape ``[2, processes, 3]``.
        barrier: For the processes of the run.
        turn: Whose turn it is, a number of each process.
    """

    gradients: Tensor
    numbers: Tensor
    barrier: Barrier
    turn: int = 0

    def mean(self, rank: int, gradient: Tensor) -> Tensor:
        """The mean of the gradients of all processes."""
        self.turn ^= 1
        self.gradients[self.turn, rank] = gradient.cpu()
        self.barrier.wait(120)
        return self.gradients[self.turn].mean(0).to(DEVICE)

    def gather(self, rank: int, *numbers: float) -> Tensor:
        """The numbers of all processes, shape ``[processes, numbers]``."""
        self.turn ^= 1
        self.numbers[self.turn, rank] = torch.tensor(numbers, dtype=torch.float64)
        self.barrier.wait(120)
        return self.numbers[self.turn].clone()


def networks(name: str, start: Path | None = None) -> tuple[FormedPolicy, Critic]:
    """The networks that a run begins with: the shipped ones, or those of an earlier run in a folder."""
    weights = load_weights(shipped_policy_path())
    torch.manual_seed(0)
    policy, critic = FormedPolicy(weights.architecture, RUNS[name].form), Critic(weights.architecture)
    for network, arrays in ((policy, weights.policy), (critic, weights.critic or {})):
        network.load_state_dict({key: torch.from_numpy(np.array(part)) for key, part in arrays.items()}, strict=False)
    if start is not None:
        policy.load_state_dict(torch.load(start / f"{name}.pt", map_location="cpu"))
        critic.load_state_dict(torch.load(start / f"{name}-critic.pt", map_location="cpu"))
    return policy.to(DEVICE), critic.to(DEVICE)


def _there(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(array).to(DEVICE)


def look(observations: Bytes, masks: Bytes) -> list[Tensor]:
    """What a policy takes."""
    left = describe_afterstates(observations, masks)
    return [_there(part) for part in (describe_observations(observations), left.rows, left.actions, left.columns)]


@torch.inference_mode()
def log_probabilities(policy: FormedPolicy, seen: list[Tensor], count: int) -> Tensor:
    """Logarithms of the probabilities, shape ``[count, 400]``, minus infinity where illegal."""
    whole = torch.full((count, NUM_ACTIONS), -torch.inf, device=DEVICE)
    whole[seen[1], seen[2]] = policy.pairs(*seen)[0]
    return torch.log_softmax(whole, 1)


class Decisions(NamedTuple):
    """Decisions of an update; of shape ``[decisions]`` or, what begins with a pair, ``[pairs]``."""

    columns: Tensor
    games: Tensor
    actions: Tensor
    logs: Tensor
    counts: Tensor
    pairs: Tensor
    first: Tensor
    pair_actions: Tensor
    pair_rests: Tensor
    advantages: Tensor
    targets: Tensor


class Member:
    """One process of a run.

    Args:
        name: The run, of :data:`RUNS`.
        rank: Its number in the run.
        shared: What the processes share.
        games: Games that it plays side by side.
        minibatch: Its decisions a gradient step.
        start: Where an earlier run left its weights.
    """

    def __init__(
        self, name: str, rank: int, shared: Shared, games: int, minibatch: int, start: Path | None = None
    ) -> None:
        self.kind, self.rank, self.shared, self.minibatch = RUNS[name], rank, shared, minibatch
        config = SelfPlayConfig(architecture=load_weights(shipped_policy_path()).architecture)
        self.config = config.changed({**RECIPE, "num_games": games, "groups": 1, "steps": STEPS})
        seed = SEED + (start is not None)
        sequence = np.random.SeedSequence([seed, rank])  # every run plays the same deals
        deals = int(sequence.generate_state(1, np.uint64)[0])
        batch = SelfPlayBatch(games, self.config.rules, deals, 1, scoring="win", concealed=True)
        self.games = Collector(batch, self.config, np.random.default_rng(sequence), (seed, rank))
        self.rng = np.random.default_rng([seed, rank, 1])
        self.policy, self.critic = networks(name, start)
        torch.manual_seed(rank + 1)
        self.past, self.reference = copy.deepcopy(self.policy), copy.deepcopy(self.policy)
        self.average, self.trusted = copy.deepcopy(self.policy), copy.deepcopy(self.critic)
        self.pool = PastSelves(self.config.pool_size)
        self.weights = [*self.policy.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.weights, lr=0.0, eps=self.config.adam_epsilon, fused=DEVICE == "cuda")
        self.updates = self.decisions = 0

    def _choose_past(self, observations: Bytes, masks: Bytes) -> tuple[Floats, Any]:
        return log_probabilities(self.past, look(observations, masks), len(masks)).cpu().numpy(), None

    def collect(self) -> tuple[Rollout, list[list[Tensor]]]:
        """Play all games on; the rollout without what the networks read, and that, step by step."""
        games, batch = self.games, self.games.batch
        has_past, kept = self.pool.draw(self.past, self.rng), list[list[Tensor]]()
        rollout = Rollout.allocate(STEPS, batch.num_games)
        for step in range(STEPS):
            theirs = games.note(rollout, step, has_past=has_past)
            actions, mine = batch.mask.argmax(axis=1), np.flatnonzero(rollout.decides[step])
            if len(mine):
                seen = look(batch.observation[mine], batch.mask[mine])
                critic = describe_games(batch.observation[mine], batch.concealed[mine], games.by_rules[mine])
                logs = log_probabilities(self.policy, seen, len(mine))
                chosen = (logs - torch.log(torch.empty_like(logs).exponential_())).argmax(1)
                settled = (logs >= _LIKELY).sum(1) < 2
                drawn = torch.rand(len(mine), device=DEVICE) < self.config.settled_share
                counts = torch.where(settled, drawn / self.config.settled_share, 1.0)
                kept.append([*seen, _there(critic), chosen, logs.gather(1, chosen[:, None])[:, 0], counts])
                actions[mine] = chosen.cpu().numpy()
            draws = self.rng.random(len(actions))
            games.play_others(actions, theirs, draws, self._choose_past if has_past else None)
            games.settle(rollout, step, actions)
        return rollout, kept

    def estimate(self, rollout: Rollout, kept: list[list[Tensor]]) -> tuple[Decisions, npt.NDArray[np.intp], float]:
        """The decisions with their advantages; those of which enough is known; what the critic explains."""
        columns, rests, games, actions, logs, counts = (torch.cat([k[i] for k in kept]) for i in (0, 3, 4, 5, 6, 7))
        with torch.inference_mode():
            found = self.trusted(games).cpu().numpy()
        values = np.zeros(rollout.decides.shape, np.float32)
        values[rollout.decides] = found
        played = rollout.rewards, rollout.seats, rollout.decides, rollout.begins, rollout.done
        estimated = seat_advantages(values, *played, self.config.gamma, self.config.lam)
        advantages, targets, known = (each[rollout.decides] for each in estimated)
        advantages = (advantages - advantages[known].mean()) / (advantages[known].std() + 1e-8)
        explained = 1.0 - np.var(targets[known] - found[known]) / np.var(targets[known])
        before = np.cumsum([0, *(len(k[0]) for k in kept[:-1])]).tolist()
        rows = torch.cat([k[1] + at for k, at in zip(kept, before, strict=True)])
        pairs = torch.bincount(rows, minlength=len(columns))
        decisions = Decisions(
            columns,
            games,
            actions,
            logs,
            counts,
            pairs,
            pairs.cumsum(0) - pairs,
            torch.cat([k[2] for k in kept]),
            rests,
            _there(advantages),
            _there(targets),
        )
        return decisions, np.flatnonzero(known), float(explained)

    def learn(self, spent: float, *, over: bool) -> tuple[bool, dict[str, float]]:
        """One update; whether a process of the run says that it is over, and the statistics."""
        decisions, known, explained = self.estimate(*self.collect())
        numbers = self.shared.gather(self.rank, len(known), explained, over)
        annealed = self.config.annealed(spent)
        for group in self.optimizer.param_groups:
            group["lr"] = annealed.learning_rate * min(1.0, (self.updates + 1) / _WARM_UP)
        order = _there(known[self.rng.permutation(len(known))])
        total, batches = torch.zeros(len(_STATISTICS), device=DEVICE), int(numbers[:, 0].min()) // self.minibatch
        for pick in torch.split(order[: batches * self.minibatch], self.minibatch):
            total += self._step(decisions, pick, annealed.entropy) / batches
        self._follow()
        self.decisions += int(numbers[:, 0].sum())
        line = dict(zip(_STATISTICS, total.tolist(), strict=True)) | {"explained": float(numbers[:, 1].mean())}
        return bool(numbers[:, 2].any()), line

    def _follow(self) -> None:
        self.updates += 1
        for mean, now, past in (
            (self.average, self.policy, self.config.average),
            (self.trusted, self.critic, self.config.critic_average),
        ):
            with torch.no_grad():
                share = max(1.0 - past, 1.0 / self.updates)
                for one, other in zip(mean.parameters(), now.parameters(), strict=True):
                    one.lerp_(other, share)
        if self.updates % self.config.snapshot_every == 0:
            self.pool.offer(self.policy, self.rng)
        if self.updates % _REFRESH == 0:
            self.reference.load_state_dict(self.average.state_dict())

    def _step(self, decisions: Decisions, pick: Tensor, entropy_weight: float) -> Tensor:
        """A gradient step on decisions of every process; the means of the statistics of this one."""
        errors = self.critic(decisions.games[pick]) - decisions.targets[pick]
        loss, statistics = self._policy_loss(decisions, pick[decisions.counts[pick] > 0], entropy_weight)
        loss = (loss + 0.5 * errors.square().sum()) / len(pick)
        flat = torch.cat([part.reshape(-1) for part in torch.autograd.grad(loss, self.weights)])
        sizes = [weight.numel() for weight in self.weights]
        parts = torch.split(self.shared.mean(self.rank, flat), sizes)
        for weight, part in zip(self.weights, parts, strict=True):
            weight.grad = part.view_as(weight)
        for network in (self.policy, self.critic):
            torch.nn.utils.clip_grad_norm_(network.parameters(), self.config.max_gradient)
        self.optimizer.step()
        return statistics / len(pick)

    def _policy_loss(self, decisions: Decisions, own: Tensor, entropy_weight: float) -> tuple[Tensor, Tensor]:
        pairs = decisions.pairs[own]
        at = torch.repeat_interleave(torch.arange(len(own), device=DEVICE), pairs)
        place = decisions.first[own][at] + torch.arange(len(at), device=DEVICE) - (pairs.cumsum(0) - pairs)[at]
        actions, rests = decisions.pair_actions[place], decisions.pair_rests[place]
        logits, values = self.policy.pairs(decisions.columns[own], at, actions, rests)
        logs = legal_log_probabilities(logits, at, len(own))
        change = logs[actions == decisions.actions[own][at]] - decisions.logs[own]
        ratio, advantages, clip = change.exp(), decisions.advantages[own], self.kind.clip
        surrogates = -torch.minimum(ratio * advantages, ratio.clamp(1.0 - clip, 1.0 + clip) * advantages)
        entropies = -torch.zeros_like(values).index_add(0, at, logs.exp() * logs)
        pulled = torch.zeros_like(values)
        if self.kind.pull:
            with torch.no_grad():
                reference = self.reference.pairs(decisions.columns[own], at, actions, rests)[0]
            apart = logs - legal_log_probabilities(reference, at, len(own))
            pulled = pulled.index_add(0, at, logs.exp() * apart)
        errors = 0.5 * (values - decisions.targets[own]).square()
        losses = surrogates + self.config.value_weight * errors - entropy_weight * entropies + self.kind.pull * pulled
        beyond = ((ratio - 1.0).abs() > clip).float()
        weights = decisions.counts[own]
        statistics = [(weights * part).sum() for part in (surrogates, entropies, ratio - 1.0 - change, beyond, pulled)]
        return (weights * losses).sum(), torch.stack(statistics).detach()
