"""Expert iteration: what a search with the policy chooses is taught to the policy again.

Of a decision that was searched the policy is taught pi * exp(q / tau): its own probability pi, and the chance q that
the search found for each action that it tried.  What it did not try is worth their mean under the policy, so its share
changes only by what the others gain and lose (the completed values of I. Danihelka et al., "Policy improvement by
planning with Gumbel", ICLR 2022).  Of a decision that it settled itself the policy is taught its own old
probabilities, so that nothing is forgotten; of kickers and of moves that empty the hand, what was done.

A round has a folder of its own, ``01``, ``02`` and so on: a data set, as ``ddz record --visits`` writes it, and
``policy.safetensors``.  Games are saved deal by deal, so a killed run loses the deal at hand, or the gradient steps of
the round at hand.  (T. Anthony, Z. Tian and D. Barber, "Thinking fast and slow with deep learning and tree search",
NIPS 2017; D. Silver et al., "Mastering the game of Go without human knowledge", Nature 2017.)
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ddz_agents.neural.model import Floats
from ddz_agents.neural.network import NetworkPolicy, PolicyNetwork
from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_env.core.rules import Rules
from ddz_env.playing.registry import read_agent
from ddz_training.data.dataset import write_data_set
from ddz_training.data.errors import DataSetError
from ddz_training.data.games import GAMES
from ddz_training.data.recording import Recording, record_games
from ddz_training.learn.checkpoint import SOURCE
from ddz_training.learn.errors import InvalidTrainingError
from ddz_training.learn.imitation import ImitationConfig, ImitationProgress, RecordedLessons
from ddz_training.learn.recorded import RecordedSet, load_recorded
from ddz_training.learn.run import POLICY, OnLine
from ddz_training.learn.settings import Count, Positive, TrainingSettings
from ddz_training.learn.threads import shards
from ddz_training.measure.match.provenance import Provenance
from ddz_training.measure.match.results import OnProgress, check_settings, no_progress

HELD_OUT = 10
"""One deal of so many is held out."""

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class ExpertConfig(TrainingSettings):
    """The settings of expert iteration.

    Attributes:
        search: The search, as for ``ddz arena``, without ``path``: it plays with the policy that is to learn.
        deals: Deals of a round, each played once; every tenth is held out, to see when to stop learning.
        tau: How much the policy's preference counts in what it is taught: its probability times exp(chance / tau).
        passes: How often the decisions of a round are gone through at most; learning ends before that where what is
            held out is no longer learned.
        minibatch: Decisions per gradient step.
        learning_rate: Adam's step size at first; it goes down in a straight line over all passes.
        max_gradient: Norm at which the gradient is clipped.

    Raises:
        InvalidTrainingError: If a setting is out of range, or the search names a policy.
        InvalidRulesError: If the preset is unknown.
        UnknownAgentError: If there is no such search.
        InvalidAgentOptionError: If it has no such option.
    """

    search: str = "neural-ismcts:root=rollouts,inference=belief,particles=256,iterations=300"
    deals: Count = 1000
    tau: Positive = 0.03
    passes: Count = 10
    minibatch: Count = 512
    learning_rate: Positive = 1e-4
    max_gradient: Positive = 1.0

    def check(self) -> None:
        """Refuse a search that names a policy."""
        super().check()
        if "path" in read_agent(self.search)[1]:
            raise InvalidTrainingError(f"search={self.search!r} names a policy: leave out path, --init names the first")

    def searching_with(self, policy: object) -> str:
        """The search with a policy's file; with the shipped one for None.

        Example:
            >>> ExpertConfig(search="neural-ismcts").searching_with("old.safetensors")
            'neural-ismcts:path=old.safetensors'
        """
        if policy is None:
            return self.search
        return f"{self.search}{',' if ':' in self.search else ':'}path={policy}"


def targets(recorded: RecordedSet, rows: Rows, log_priors: Floats, tau: float) -> Floats:
    """What the policy is taught of some decisions.

    Args:
        recorded: Decisions of a search.
        rows: Which of them, shape ``[n]``.
        log_priors: Logarithms of the old policy's probabilities, shape ``[n, 400]``, minus infinity where illegal.
        tau: The smaller, the more the search's values count.

    Returns:
        Probabilities, shape ``[n, 400]``, float32.
    """
    own, chances = np.exp(log_priors), recorded.chances(rows)
    tried = ~np.isnan(chances)
    searched = tried.any(axis=1, keepdims=True)
    weights = np.where(tried, own + np.finfo(np.float32).tiny, 0.0)
    means = np.nansum(weights * chances, axis=1, keepdims=True) / np.where(searched, weights.sum(1, keepdims=True), 1.0)
    scores = log_priors + np.where(tried, chances - means, 0.0) / tau
    improved = np.exp(scores - scores.max(axis=1, keepdims=True))
    improved /= improved.sum(axis=1, keepdims=True)
    settled = recorded.searched[rows, None]
    return np.where(searched, improved, np.where(settled, own, recorded.shares(rows))).astype(np.float32)


class ExpertLessons(RecordedLessons):
    """Teaches a policy what a search with it has found.

    Where no deal is held out, or every one is, all are learned from and say when to stop.

    Args:
        recorded: The decisions of the search.
        config: The settings.
        start: The policy that the search used; unchanged.
        threads: Threads; None for one a core.  Results do not depend on it.

    Attributes:
        best: The policy that learned the held out decisions best.
        divergences: Of the policy from what it is taught of those, in nats: before the first pass and after each.

    Raises:
        DataSetError: If there is nothing to learn from.
    """

    def __init__(
        self, recorded: RecordedSet, config: ExpertConfig, start: PolicyNetwork, threads: int | None = None
    ) -> None:
        held_out = recorded.deals % HELD_OUT == HELD_OUT - 1
        if not len(held_out):
            raise DataSetError("the games hold no decision with a choice")
        whole = held_out.all() or not held_out.any()
        self._learned, self._judged = (np.flatnonzero(whole | (held_out == held)) for held in (False, True))
        self._old, self._expert = NetworkPolicy(start), config
        names = "rules", "seed", "learning_rate", "max_gradient"
        same: dict[str, Any] = {name: getattr(config, name) for name in names}
        decisions = config.passes * len(self._learned)
        settings = ImitationConfig(decisions=decisions, num_games=config.minibatch, **same)
        super().__init__(settings, recorded, copy.deepcopy(start), threads)
        self.best = copy.deepcopy(self.policy)
        self.divergences = [self._divergence()]

    def step(self) -> ImitationProgress:
        """One gradient step; after a pass the policy is kept if it is better."""
        progress = super().step()
        if not self.pieces:
            self.divergences.append(self._divergence())
            if not self._is_worse():
                self.best = copy.deepcopy(self.policy)
        return progress

    def share(self) -> float:
        """Of the passes of the settings; 1 once one was in vain."""
        return 1.0 if self._is_worse() else (len(self.divergences) - 1) / self._expert.passes

    def _is_worse(self) -> bool:
        return len(self.divergences) > 1 and self.divergences[-1] >= min(self.divergences[:-1])

    def chosen(self) -> Rows:
        """The decisions that are not held out."""
        return self._learned

    def taught(self, rows: Rows) -> Floats:
        """See :func:`targets`."""
        return targets(self.recorded, rows, self._old.evaluate(*self.recorded.seen(rows))[0], self._expert.tau)

    def _divergence(self) -> float:
        """Of the policy from what it is taught of the decisions held out, in nats a decision."""
        model, total = NetworkPolicy(self.policy), 0.0
        for piece in shards(len(self._judged), self._expert.minibatch):
            part = self._judged[piece]
            shares, logs = self.taught(part), model.evaluate(*self.recorded.seen(part))[0]
            found = np.where(shares > 0, np.log(np.where(shares > 0, shares, 1.0)) - logs, 0.0)
            total += float((shares * found).sum())
        self.policy.train()
        return total / len(self._judged)


class Round(NamedTuple):
    """A round that is done.

    Attributes:
        number: From 1.
        policy: The file of what it taught.
        divergences: As in the file: see :class:`ExpertLessons`.
    """

    number: int
    policy: Path
    divergences: tuple[float, ...]


def iterate(
    config: ExpertConfig,
    rounds: int,
    folder: Path,
    init: Path | None = None,
    *,
    processes: int = 1,
    threads: int | None = None,
    on_games: OnProgress = no_progress,
    on_step: OnLine | None = None,
) -> list[Round]:
    """Play and learn, round by round; what is there already is kept.

    Args:
        config: The settings.
        rounds: How many, those in the folder included.
        folder: Where the rounds are; it gets the last one's ``policy.safetensors``.
        init: The first policy; None for the shipped one.
        processes: Processes that play; results do not depend on them.
        threads: Threads that learn; results do not depend on them.
        on_games: Told how many deals of a round are played, and of how many.
        on_step: Called after every gradient step.

    Raises:
        SettingsMismatchError: If a round in the folder was made under other settings.
        AgentChangedError: If it began with another policy.
        DataSetError: If games cannot be recorded.
        TensorFileError: If weights cannot be read or written.
    """
    done: list[Round] = []
    for number in range(1, rounds + 1):
        place = folder / f"{number:02d}"
        path = place / POLICY
        known = Provenance.of((), *SOURCE).reading("policy", init or shipped_policy_path())
        if not path.exists():
            _play(config, number, place, init, processes, on_games)
            start = load_weights(init or shipped_policy_path())
            lessons = ExpertLessons(load_recorded(place), config, start.policy, threads)
            lessons.run(on_step=on_step)
            said = {"settings": config.as_dict(), "divergences": lessons.divergences} | known.settings()
            # The critic stays as it was; the policy's own value is not taught, and the layers below it have changed.
            kept = start.critic, config.rules, start.objective
            save_weights(path, Weights(lessons.best.eval(), *kept, said, values_trained=False))
        taught = load_weights(path)
        notes: dict[str, Any] = dict(taught.notes)
        check_settings(path, notes["settings"], config.as_dict())
        known.check_files(Provenance.take(notes), path)
        done.append(Round(number, path, tuple(notes["divergences"])))
        save_weights(folder / POLICY, taught)
        init = path
    return done


def _play(
    config: ExpertConfig, number: int, place: Path, policy: Path | None, processes: int, on_games: OnProgress
) -> None:
    """The games of a round, and their tables."""
    recording = Recording((config.searching_with(policy),), Rules.preset(config.rules), config.seed, visits=True)
    record_games(
        recording,
        config.deals,
        first_deal=(number - 1) * config.deals,
        processes=processes,
        store=recording.store(place / GAMES),
        on_progress=on_games,
    )
    write_data_set(place)
