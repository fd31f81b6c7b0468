"""Proximal policy optimization (PPO) by self-play, from rollout to gradient steps, to be read from top to bottom.

J. Schulman et al., "Proximal policy optimization algorithms", 2017.  One policy plays all seats.  An update is

1. :func:`collect_rollout`: play many games on for some steps, and keep what the policy saw and did;
2. :meth:`PpoLearner.estimate`: let a critic that sees all hands value the decisions, and turn values and rewards into
   advantages (:func:`compute_seat_gae`), seat by seat;
3. :meth:`Learner.store_estimates`: note those of the decisions of which enough is known, the advantages normalized; a
   filter may leave those of small advantage to the critic alone (:func:`find_large_advantages`);
4. :meth:`Learner.update`: go through the decisions in minibatches; their loss is :meth:`PpoLearner.loss`, the clipped
   surrogate, the values and the entropy.

The games and their other players are in :mod:`.games`, the settings in :mod:`.config`, how networks read decisions in
:mod:`ddz_training.learn.input_layers`; the run around it (groups of games, past selves, averages, checkpoints) is
:mod:`.selfplay`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ddz_agents.neural.model import Floats
from ddz_agents.neural.network import Critic, PolicyNetwork, legal_log_probabilities
from ddz_env.support.compiling import kernel
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.input_layers import InputLayer, LegalPairs, cache_running_sums, forward_critic, forward_policy
from ddz_training.learn.ppo.config import GamesConfig, SelfPlayConfig
from ddz_training.learn.ppo.games import BoolArray, RecordedSteps, RolloutGames
from ddz_training.learn.processes import Processes
from ddz_training.learn.threads import Threads, accumulate_gradients, split_rows

LossSums = dict[str, Tensor]
"""Sums over decisions by name; their means are the columns of :class:`ddz_training.learn.ppo.selfplay.CurveLine`."""

_LOG_ONE_PERCENT = math.log(0.01)


# --- The rollout ------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """The actions chosen in a batch of decisions, with their log-probabilities.

    Attributes:
        indices: Index of the chosen action among the legal ones of its decision, shape ``[n]``, int64.
        log_probabilities: Log-probabilities of the chosen actions, shape ``[n]``, float32.
        loss_weights: How much each decision counts for the policy, shape ``[n]``, float32.
    """

    indices: Tensor
    log_probabilities: Tensor
    loss_weights: Tensor


ActionSampler = Callable[[Tensor, Tensor, int, torch.Generator], Choice]
"""Samples by the logits of legal actions, the decision of each, the number of decisions and a generator."""


@dataclass
class Rollout:
    """The learner's decisions in a rollout, stored on the device group by group and step by step.

    Attributes:
        seen: What the networks read (:class:`~ddz_agents.neural.decisions.Decisions`), shape ``[n, 584]``, int8.
        hand_values: Hand values that the networks read, shape ``[n, 4, 2]``, int16.
        legal_actions: The legal actions of all decisions one after another, shape ``[pairs]``, int16.
        legal_values: Hand values of what each action leaves, shape ``[pairs, 2]``, int16.
        sizes: How many legal actions each decision has, shape ``[n]``, int64.
        choice: What was chosen.
        played: Who acted and what it brought, on the processor.
        starts: The first legal action of each decision, shape ``[n]``, int64.
        advantages: Normalized advantages of the decisions of which enough is known, shape ``[n]``, float32; empty
            before :meth:`Learner.store_estimates`.
        targets: The critic's targets for them, likewise.
        trains_policy: Whether each decision counts for the policy, on the processor, shape ``[n]``, bool; empty
            before :meth:`Learner.update`.
        host_sizes: ``sizes`` on the processor, likewise: to ask a device for a number would mean to wait for it.
    """

    seen: Tensor
    hand_values: Tensor
    legal_actions: Tensor
    legal_values: Tensor
    sizes: Tensor
    choice: Choice
    played: RecordedSteps
    advantages: Tensor = field(default_factory=lambda: torch.empty(0))
    targets: Tensor = field(default_factory=lambda: torch.empty(0))
    trains_policy: BoolArray = field(default_factory=lambda: np.empty(0, np.bool_))
    host_sizes: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        self.starts = self.sizes.cumsum(0) - self.sizes

    def to_index(self, rows: npt.NDArray[np.intp]) -> Tensor:
        """Copy decision numbers to the device, where they index tensors."""
        return torch.from_numpy(rows).to(self.seen.device)

    def select_policy_rows(self, rows: npt.NDArray[np.intp]) -> tuple[Tensor, int]:
        """Select the decisions from which the policy learns, and count their legal actions."""
        rows = rows[self.trains_policy[rows]]
        return self.to_index(rows), int(self.host_sizes[rows].sum())

    def gather_legal(self, rows: Tensor, pairs: int) -> tuple[LegalPairs, Tensor]:
        """Gather the legal actions of the given decisions, and the index of each decision's first legal action.

        Args:
            rows: The decisions.
            pairs: How many legal actions they have together.
        """
        legal_rows, starts = expand_rows(self.sizes[rows], pairs)
        indices = (self.starts[rows] - starts)[legal_rows] + torch.arange(pairs, device=rows.device)
        return LegalPairs(legal_rows, self.legal_actions[indices].long(), self.legal_values[indices]), starts


def expand_rows(sizes: Tensor, pairs: int) -> tuple[Tensor, Tensor]:
    """Expand action counts: return the index of each action's decision and of each decision's first action."""
    rows = torch.repeat_interleave(torch.arange(len(sizes), device=sizes.device), sizes, output_size=pairs)
    return rows, sizes.cumsum(0) - sizes


@dataclass
class RolloutPolicies:
    """The policies that play a rollout, with their input layer and their action sampler.

    Attributes:
        input_layer: Feeds decisions to the networks.
        policy: The policy.
        sample_actions: Samples the policy's actions.
        past_policy: The past self that plays one side of some games, if there is one yet.
    """

    input_layer: InputLayer
    policy: PolicyNetwork
    sample_actions: ActionSampler
    past_policy: PolicyNetwork | None = None


def collect_rollout(
    groups: Sequence[RolloutGames],
    generators: Sequence[torch.Generator],
    steps: int,
    players: RolloutPolicies,
    threads: Threads,
) -> Rollout:
    """Play groups of games for a given number of steps, and record what the learner saw and did.

    On a processor each group is played by one thread from beginning to end: no step waits for the slowest group.  With
    a GPU the groups take turns, one with the networks while threads play and describe the others.

    Args:
        groups: The games.
        generators: The generator of each group, on the device; it draws the actions.
        steps: How many steps.
        players: The networks.
        threads: The threads.
    """
    sizes = [games.batch.num_games for games in groups]
    played = RecordedSteps.allocate(steps, sum(sizes))
    parts = [
        played.for_games(slice(end - size, end)) for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)
    ]
    networks = (players.policy,) if players.past_policy is None else (players.policy, players.past_policy)
    with cache_running_sums(*networks):
        steps_by_group = threads.map_groups(
            lambda number: _collect_group(groups[number], generators[number], parts[number], players, threads),
            len(groups),
        )
    first = 0
    for part, group_steps in zip(parts, steps_by_group, strict=True):
        part.rows[part.decides] += first
        first += sum(len(choice.indices) for _, choice in group_steps)
    described, choices = zip(*(step for group_steps in steps_by_group for step in group_steps), strict=True)
    choice = Choice(*map(torch.cat, zip(*choices, strict=True)))
    seen, hand_values, actions, values, counts = (torch.cat(part) for part in zip(*described, strict=True))
    return Rollout(seen, hand_values, actions, values, counts, choice, played)


@torch.no_grad()  # here, not around collect: the setting is per thread
def _collect_group(
    games: RolloutGames, generator: torch.Generator, played: RecordedSteps, players: RolloutPolicies, threads: Threads
) -> list[tuple[list[Tensor], Choice]]:
    """Play one group of games for a rollout, and return each step's decisions and choices."""
    collected: list[tuple[list[Tensor], Choice]] = []
    rows, has_past = 0, players.past_policy is not None
    count = games.batch.num_games
    for step in range(len(played.rows)):
        games.find_decisions(has_past=has_past)
        games.record_actors(played, step, rows)
        threads.run_in_chunks(games.encode_decisions, count, searches=True)
        described, choice, actions = _choose_actions(games, generator, players)
        collected.append((described, choice))
        rows += len(games.learner_games)
        games.set_actions(actions)
        threads.run_in_chunks(games.play, count)
        games.record_results(played, step)
    return collected


def _choose_actions(
    games: RolloutGames, generator: torch.Generator, players: RolloutPolicies
) -> tuple[list[Tensor], Choice, npt.NDArray[np.int64]]:
    """Choose actions on the device; return the learner's decisions and choices, and the actions of all games."""
    device, mine = generator.device, len(games.learner_games)
    seen, hand_values, actions, values = (to_device(part, device) for part in games.encoded_decisions())
    sizes, split = to_device(games.sizes, device), int(games.sizes[:mine].sum())

    def decide(network: PolicyNetwork, rows: slice, legal: slice) -> tuple[Choice, Tensor]:
        legal_rows, starts = expand_rows(sizes[rows], len(actions[legal]))
        legal_pairs = LegalPairs(legal_rows, actions[legal].long(), values[legal])
        logits, _ = forward_policy(players.input_layer, network, seen[rows], hand_values[rows], legal_pairs)
        choice = players.sample_actions(logits, legal_rows, len(starts), generator)
        return choice, legal_pairs.actions[starts + choice.indices]

    choice, chosen = decide(players.policy, slice(mine), slice(split))
    if players.past_policy is not None:
        _, past_actions = decide(players.past_policy, slice(mine, None), slice(split, None))
        chosen = torch.cat([chosen, past_actions])
    described = [seen[:mine], hand_values[:mine], actions[:split], values[:split], sizes[:mine]]
    return described, choice, chosen.cpu().numpy()


def to_device(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Copy a NumPy array to a device as a tensor, without waiting for copies to a GPU."""
    tensor = torch.from_numpy(array)
    return tensor.clone() if device.type == "cpu" else tensor.to(device, non_blocking=True)


def sample_actions(
    logits: Tensor, rows: Tensor, count: int, generator: torch.Generator, settled_share: float = 1.0
) -> Choice:
    """Sample an action for each decision from the policy's probabilities.

    The index of the largest logarithm, each with Gumbel noise, has the policy's distribution (E. J. Gumbel, 1954).
    Settled decisions, in which all but one action have hardly any probability, teach little and cost as much as others.
    So they are sampled, and those drawn also count for the others: each counts once on average.

    Args:
        logits: Logits of the legal actions, shape ``[pairs]``, float32.
        rows: The decision that each belongs to, shape ``[pairs]``, int64, ascending.
        count: How many decisions there are.
        generator: Draws.
        settled_share: Share of the settled decisions (those where no second action has a probability of 1 %) that
            count, each with weight ``1 / settled_share``.
    """
    logs = legal_log_probabilities(logits, rows, count)
    scores = logs - torch.empty_like(logs).exponential_(generator=generator).log()
    chosen = argmax_by_row(scores, rows, count)
    likely = torch.zeros(count, device=logits.device).index_add(0, rows, (logs >= _LOG_ONE_PERCENT).float())
    drawn = torch.rand(count, device=logits.device, generator=generator) < settled_share
    counts = torch.where(likely > 1.5, 1.0, drawn.float() / settled_share)
    return Choice(chosen - first_index_of_rows(rows, count), logs[chosen], counts)


def argmax_by_row(scores: Tensor, rows: Tensor, count: int) -> Tensor:
    """Find the index of each row's highest score, shape ``[count]``, int64; the last one wins a tie."""
    best = scores.new_full((count,), -torch.inf).scatter_reduce(0, rows, scores, "amax")
    candidates = torch.where(scores >= best[rows], torch.arange(len(rows), device=rows.device), -1)
    return rows.new_full((count,), -1).scatter_reduce(0, rows, candidates, "amax")


def first_index_of_rows(rows: Tensor, count: int) -> Tensor:
    """Find the index of each row's first entry."""
    sizes = torch.zeros(count, dtype=torch.int64, device=rows.device).index_add(0, rows, torch.ones_like(rows))
    return sizes.cumsum(0) - sizes


# --- Advantages -------------------------------------------------------------------------------------------------------


class Advantages(NamedTuple):
    """Advantages of a rollout in arrays of shape ``[steps, envs]``, with zeros where they are unknown.

    Attributes:
        advantages: float32.
        targets: Advantages plus values, the targets of the critic, float32.
        known: The decisions whose seat decided again, or whose game ended, before the rollout did, bool.
    """

    advantages: Floats
    targets: Floats
    known: BoolArray


def compute_seat_gae(
    values: Floats,
    rewards: npt.NDArray[Any],
    seats: npt.NDArray[np.int8],
    decides: BoolArray,
    begins: BoolArray,
    done: BoolArray,
    gamma: float = 1.0,
    gae_lambda: float = 0.95,
    target_lambda: float | None = None,
) -> Advantages:
    """Compute generalized advantage estimates for games of several seats, with the move as the unit of time.

    J. Schulman et al., "High-dimensional continuous control using generalized advantage estimation", ICLR 2016,
    equation 16, with two changes.  What follows a decision of a seat is that seat's *own* next decision; what others do
    in between belongs to the transition.  The unit of time is a move, not a decision: between the stages of a move (the
    main group, its kickers) neither discount nor λ applies, and forced steps count nothing.

    Args:
        values: The acting seat's value before the step, shape ``[steps, envs]``; read where ``decides``.
        rewards: What the step brought each seat, shape ``[steps, envs, seats]``.
        seats: The seat that acted, shape ``[steps, envs]``, integers.
        decides: Whether the step was a decision to learn from, shape ``[steps, envs]``, bool.
        begins: Whether the step began a move (it was not a kicker stage), shape ``[steps, envs]``, bool.
        done: Whether the step ended the game, shape ``[steps, envs]``, bool.
        gamma: Discount per move.
        gae_lambda: λ per move.
        target_lambda: λ of the targets; that of the advantages by default.

    Raises:
        InvalidTrainingError: If ``gamma`` or a λ is not in 0..1 or the shapes do not fit.

    Example:
        A seat decides twice, with another seat's step in between, and then wins:

        >>> yes, no = np.ones((3, 1), bool), np.zeros((3, 1), bool)
        >>> rewards, done = np.zeros((3, 1, 2)), no.copy()
        >>> rewards[2, 0], done[2] = (1, -1), True
        >>> values, seats = np.array([[0.2], [0.0], [0.6]]), np.array([[0], [1], [0]])
        >>> estimates = compute_seat_gae(values, rewards, seats, yes, yes, done, gamma=1.0, gae_lambda=0.5)
        >>> [round(float(advantage), 3) for advantage in estimates.advantages[:, 0]]
        [0.6, -1.0, 0.4]
    """
    target_lambda = gae_lambda if target_lambda is None else target_lambda
    for name, share in (("gamma", gamma), ("gae_lambda", gae_lambda), ("target_lambda", target_lambda)):
        if not 0.0 <= share <= 1.0:
            raise InvalidTrainingError(f"{name}={share!r} must be in 0..1")
    _check_shapes(values, rewards, seats, decides, begins, done)
    shape = values.shape
    out = Advantages(np.zeros(shape, np.float32), np.zeros(shape, np.float32), np.zeros(shape, np.bool_))
    _accumulate_backwards(values, rewards, seats, decides, begins, done, (gamma, gae_lambda, target_lambda), out)
    return out


@kernel
def _accumulate_backwards(
    values: np.ndarray,
    rewards: np.ndarray,
    acting: np.ndarray,
    decides: np.ndarray,
    begins: np.ndarray,
    done: np.ndarray,
    shares: tuple[float, float, float],
    out: Advantages,
) -> None:
    """Accumulate the estimates of :func:`compute_seat_gae` backwards; ``shares`` holds γ, λ and the targets' λ."""
    steps, envs, seats = rewards.shape
    gamma, gae_lambda, target_lambda = shares
    # What lies ahead of each seat: the value of its next decision, its advantage and how far its target is from that
    # value, what the seat earns until then, whether it begins another move on the way, and whether anything is known
    # of it at all.
    ahead_value, ahead_advantage = np.zeros((envs, seats)), np.zeros((envs, seats))
    ahead_change = np.zeros((envs, seats))
    earned, moved, known = np.zeros((envs, seats)), np.zeros((envs, seats), np.bool_), np.zeros((envs, seats), np.bool_)
    for step in range(steps - 1, -1, -1):
        for env in range(envs):
            if done[step, env]:
                for seat in range(seats):
                    ahead_value[env, seat] = ahead_advantage[env, seat] = ahead_change[env, seat] = 0.0
                    earned[env, seat], known[env, seat] = 0.0, True
            for seat in range(seats):
                earned[env, seat] += rewards[step, env, seat]
            at = env, np.int64(acting[step, env])
            if decides[step, env]:
                value, advantage, change = np.float64(values[step, env]), 0.0, 0.0
                if known[at]:
                    discount = gamma if moved[at] else 1.0
                    delta = earned[at] + discount * ahead_value[at] - value
                    advantage = delta + (gamma * gae_lambda if moved[at] else 1.0) * ahead_advantage[at]
                    change = delta + (gamma * target_lambda if moved[at] else 1.0) * ahead_change[at]
                    out.advantages[step, env], out.targets[step, env] = advantage, value + change
                    out.known[step, env] = True
                # Without a successor the decision is one itself: its value takes the place of all that follows.
                ahead_value[at], ahead_advantage[at], ahead_change[at] = value, advantage, change
                earned[at], moved[at], known[at] = 0.0, False, True
            moved[at] |= begins[step, env]


def find_large_advantages(advantages: Floats, quantile: float, floor: float) -> BoolArray:
    """Return a mask of the advantages with large absolute values, from which the policy learns most.

    Args:
        advantages: Shape ``[n]``, not normalized.
        quantile: The quantile of the absolute advantages from which on they are large; 0.75 keeps the upper quarter.
        floor: The absolute value that a large one has at least.

    Returns:
        Shape ``[n]``, bool.

    Example:
        >>> find_large_advantages(np.array([0.5, -0.02, 0.0, -0.7], np.float32), quantile=0.5, floor=0.01).tolist()
        [True, False, False, True]
    """
    sizes = np.abs(advantages)
    least = max(np.quantile(sizes, quantile), floor) if len(sizes) else floor
    flags: BoolArray = sizes >= least
    return flags


def _check_shapes(values: Floats, rewards: npt.NDArray[Any], *others: npt.NDArray[Any]) -> None:
    if values.ndim != 2 or rewards.shape[:2] != values.shape or any(each.shape != values.shape for each in others):
        shapes = ", ".join(str(list(each.shape)) for each in (values, rewards, *others))
        raise InvalidTrainingError(f"a rollout is [steps, envs], its rewards [steps, envs, seats]; got {shapes}")


# --- The update -------------------------------------------------------------------------------------------------------


class Learner(ABC):
    """The base class of learners: networks and their gradient steps; subclasses define value estimates and loss.

    Args:
        policy: The policy.
        critic: The critic.
        config: The settings.
        threads: The threads.
        input_layer: Feeds decisions to the networks.
        trusted_critic: The critic whose values are used, a running average; the critic itself if None.
        processes: The processes that learn together.
    """

    def __init__(
        self,
        policy: PolicyNetwork,
        critic: Critic,
        config: GamesConfig,
        threads: Threads,
        input_layer: InputLayer,
        trusted_critic: Critic | None = None,
        processes: Processes | None = None,
    ) -> None:
        self.policy, self.critic, self.trusted_critic = policy, critic, trusted_critic or critic
        self.input_layer, self.processes = input_layer, processes or Processes()
        self._config, self._threads = config, threads
        self._policy_weights, self._critic_weights = list(policy.parameters()), list(critic.parameters())
        self._weights = [*self._policy_weights, *self._critic_weights]
        self.optimizer = torch.optim.Adam(self._weights, lr=config.learning_rate, eps=config.adam_epsilon, fused=True)

    @abstractmethod
    def sample_actions(self, logits: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> Choice:
        """Sample an action for each of a rollout's decisions, given the logits of its legal actions."""

    @abstractmethod
    def estimate(self, rollout: Rollout) -> tuple[Floats, Advantages]:
        """Estimate each decision's value, shape ``[n]``, and advantages and targets, ``[steps, games]``."""

    @abstractmethod
    def loss(self, rollout: Rollout, rows: npt.NDArray[np.intp], spent: float) -> tuple[Tensor, LossSums]:
        """Compute the summed loss of the given decisions, and the sums of their statistics for the curves.

        Args:
            rollout: The rollout.
            rows: The decisions, a microbatch of those of a gradient step, shape ``[n]``.
            spent: The share of the budget that is spent.
        """

    def store_estimates(
        self, rollout: Rollout, values: Floats, estimates: Advantages
    ) -> tuple[npt.NDArray[np.intp], float]:
        """Write targets and normalized advantages into the rollout for the decisions with usable estimates.

        Returns:
            These decisions, by their numbers in the rollout, and the share of the targets' variance that the critic
            explains.
        """
        rows = rollout.played.rows[estimates.known].astype(np.intp)
        advantages, targets = estimates.advantages[estimates.known], estimates.targets[estimates.known]
        (mean, deviation), (_, spread_of_targets) = self._moments(advantages), self._moments(targets)
        unexplained = self._moments(targets - values[rows])[1]
        normalized = ((advantages - mean) / (deviation + 1e-8)).astype(np.float32)
        rollout.advantages, rollout.targets = torch.zeros((2, len(rollout.seen)), device=rollout.seen.device)
        indices = torch.from_numpy(rows).to(rollout.seen.device)
        rollout.advantages[indices] = torch.from_numpy(normalized).to(indices.device)
        rollout.targets[indices] = torch.from_numpy(targets).to(indices.device)
        return np.sort(rows), 1.0 - (unexplained / spread_of_targets) ** 2 if spread_of_targets > 0 else 0.0

    def _moments(self, numbers: Floats) -> tuple[float, float]:
        """Compute the mean and standard deviation of numbers across all processes, or 0 if there are none."""
        count, total = self.processes.sum_numbers([len(numbers), numbers.sum(dtype=np.float64)])
        mean = total / max(count, 1.0)
        (squares,) = self.processes.sum_numbers(np.square(numbers - mean, dtype=np.float64).sum())
        return float(mean), math.sqrt(squares / max(count, 1.0))

    def update(
        self, rollout: Rollout, usable: npt.NDArray[np.intp], rng: np.random.Generator, update: int, spent: float
    ) -> dict[str, Any]:
        """Train on a rollout's decisions, shuffled and split into minibatches of nearly equal size.

        Args:
            rollout: The rollout, its estimates noted.
            usable: The decisions of which enough is known.
            rng: Shuffles them.
            update: How many updates there have been.
            spent: The share of the budget that is spent.

        Returns:
            The mean of each statistic over the update's decisions; empty if there are none.
        """
        config = self._config
        rate = config.learning_rate * (1.0 - spent * (1.0 - config.final_lr_factor))
        rollout.trains_policy, rollout.host_sizes = (
            part.cpu().numpy() for part in (rollout.choice.loss_weights > 0, rollout.sizes)
        )
        total, (decisions,) = dict[str, float](), self.processes.sum_numbers(len(usable))
        steps = math.ceil(decisions / (self.processes.size * config.minibatch))
        taken = self._count_steps_taken()
        for epoch in range(config.update_epochs if decisions else 0):
            for step, rows in enumerate(np.array_split(usable[rng.permutation(len(usable))], steps)):
                warmth = min(1.0, (taken + epoch * steps + step + 1) / max(1, config.warmup_steps))
                for group in self.optimizer.param_groups:
                    group["lr"] = rate * warmth
                for name, number in self._step(rollout, rows, spent, update >= config.critic_warmup_updates).items():
                    total[name] = total.get(name, 0.0) + number
        means = self.processes.sum_numbers([*total.values()]) / max(config.update_epochs * decisions, 1)
        return dict(zip(total, means.tolist(), strict=True))

    def _count_steps_taken(self) -> int:
        """Count the run's gradient steps so far by Adam's own count, which checkpoints keep."""
        # The largest: the policy takes no step while only the critic learns, and deep Monte Carlo trains no critic.
        return max((int(state["step"]) for state in self.optimizer.state.values()), default=0)

    def _step(
        self, rollout: Rollout, rows: npt.NDArray[np.intp], spent: float, learns_policy: bool
    ) -> dict[str, float]:
        """Take a gradient step on a minibatch, in microbatches on all threads; return the sums of its statistics."""
        (decisions,) = self.processes.sum_numbers(len(rows)).tolist()

        def loss(microbatch: slice) -> tuple[Tensor, tuple[list[str], Tensor]]:
            loss, sums = self.loss(rollout, rows[microbatch], spent)
            together = torch.stack([*sums.values()]).detach().double().cpu()  # one way from the device for all
            return loss / decisions, ([*sums], together)

        pieces = split_rows(max(1, len(rows)), self._config.microbatch)  # of no decisions where only others have some
        statistics = accumulate_gradients(self._threads, self._weights, loss, pieces)
        self.processes.all_reduce([weight.grad for weight in self._weights if weight.grad is not None])
        if not learns_policy:
            for weight in self._policy_weights:
                weight.grad = None  # Adam leaves it alone: neither the weight nor its moments move
        for part in (self._policy_weights, self._critic_weights):
            torch.nn.utils.clip_grad_norm_(part, self._config.max_grad_norm)
        self.optimizer.step()
        (names, *_), sums = zip(*statistics, strict=True)
        return dict(zip(names, torch.stack(sums).sum(0).tolist(), strict=True))


class PpoLearner(Learner):
    """The PPO learner, whose critic values the decisions and whose policy loss is the clipped surrogate."""

    _config: SelfPlayConfig

    def sample_actions(self, logits: Tensor, rows: Tensor, count: int, generator: torch.Generator) -> Choice:
        """Sample actions from the policy's probabilities, keeping a share of near-certain decisions for the loss."""
        return sample_actions(logits, rows, count, generator, self._config.settled_share)

    def estimate(self, rollout: Rollout) -> tuple[Floats, Advantages]:
        """Estimate the decisions' values with the critic, and their advantages seat by seat."""
        config, played, decides = self._config, rollout.played, rollout.played.decides

        @torch.no_grad()  # of the thread that computes
        def value(microbatch: slice) -> Tensor:
            return forward_critic(
                self.input_layer, self.trusted_critic, rollout.seen[microbatch], rollout.hand_values[microbatch]
            )

        with cache_running_sums(self.trusted_critic):
            parts = self._threads.map(value, split_rows(len(rollout.seen), config.microbatch))
        values: Floats = torch.cat(parts).cpu().numpy() if parts else np.empty(0, np.float32)
        valued = np.zeros(decides.shape, np.float32)
        valued[decides] = values[played.rows[decides]]
        steps = played.rewards, played.seats, decides, played.begins, played.done
        return values, compute_seat_gae(valued, *steps, config.gamma, config.gae_lambda, config.target_lambda)

    def store_estimates(
        self, rollout: Rollout, values: Floats, estimates: Advantages
    ) -> tuple[npt.NDArray[np.intp], float]:
        """Write targets and advantages into the rollout, and keep small advantages out of the policy's loss."""
        noted, known = super().store_estimates(rollout, values, estimates), estimates.known
        quantile, floor = self._config.advantage_quantile, self._config.advantage_floor
        small = rollout.played.rows[known][~find_large_advantages(estimates.advantages[known], quantile, floor)]
        rollout.choice.loss_weights[torch.from_numpy(small).to(rollout.seen.device)] = 0.0
        return noted

    def loss(self, rollout: Rollout, rows: npt.NDArray[np.intp], spent: float) -> tuple[Tensor, LossSums]:
        """Return the sum of the policy's and the critic's losses, and the sums of the loss statistics."""
        config, index = self._config, rollout.to_index(rows)
        entropy_weight = config.ent_coef + spent * (config.final_ent_coef - config.ent_coef)
        policy, sums = self.policy_loss(rollout, *rollout.select_policy_rows(rows), entropy_weight)
        values = forward_critic(self.input_layer, self.critic, rollout.seen[index], rollout.hand_values[index])
        critic = (0.5 * (values - rollout.targets[index]).square()).sum()
        return policy + critic, {**sums, "critic_loss": critic}

    def policy_loss(self, rollout: Rollout, rows: Tensor, pairs: int, entropy_weight: float) -> tuple[Tensor, LossSums]:
        """Compute the policy's loss (clipped surrogate, loss of its value head, entropy) and the sums of its parts.

        Args:
            rollout: The rollout.
            rows: The decisions, shape ``[n]``, int64.
            pairs: How many legal actions they have together.
            entropy_weight: The weight of the entropy.
        """
        config = self._config
        legal, starts = rollout.gather_legal(rows, pairs)
        logits, values = forward_policy(
            self.input_layer, self.policy, rollout.seen[rows], rollout.hand_values[rows], legal
        )
        logs = legal_log_probabilities(logits, legal.rows, len(rows))
        change = logs[starts + rollout.choice.indices[rows]] - rollout.choice.log_probabilities[rows]
        ratio, advantages = change.exp(), rollout.advantages[rows]
        clipped = ratio.clamp(1.0 - config.clip_coef, 1.0 + config.clip_coef)
        surrogates = -torch.minimum(ratio * advantages, clipped * advantages)
        value_losses = 0.5 * (values - rollout.targets[rows]).square()
        entropies = -torch.zeros_like(values).index_add(0, legal.rows, logs.exp() * logs)
        beyond = (ratio - 1.0).abs() > config.clip_coef
        parts = {
            "policy_loss": surrogates,
            "value_loss": value_losses,
            "entropy": entropies,
            "approx_kl": ratio - 1.0 - change,
            "clip_fraction": beyond.float(),
        }
        counts = rollout.choice.loss_weights[rows]
        sums = {name: (counts * part).sum() for name, part in parts.items()}
        return sums["policy_loss"] + config.vf_coef * sums["value_loss"] - entropy_weight * sums["entropy"], sums
