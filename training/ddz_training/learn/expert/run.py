"""Expert iteration on disk: a round is games of the search with the policy, then a policy that has learned from them.

A round has a folder of its own, ``01``, ``02`` and so on: a data set, as ``ddz record --visits`` writes it, and
``policy.safetensors``.  Games are saved deal by deal, so a killed run loses the deal at hand, or the gradient steps of
the round at hand.  (T. Anthony, Z. Tian and D. Barber, "Thinking fast and slow with deep learning and tree search",
NIPS 2017; D. Silver et al., "Mastering the game of Go without human knowledge", Nature 2017.)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ddz_agents.neural.shipped import shipped_policy_path
from ddz_agents.neural.weights import Weights, load_weights, save_weights
from ddz_env.core.rules import Rules
from ddz_training.data.dataset import write_data_set
from ddz_training.data.games import GAMES
from ddz_training.data.recording import Recording, record_games
from ddz_training.learn.expert.config import ExpertConfig
from ddz_training.learn.expert.lessons import teach
from ddz_training.learn.imitation import ImitationProgress
from ddz_training.learn.ppo.run import POLICY
from ddz_training.learn.recorded import load_recorded
from ddz_training.measure.match.provenance import Provenance
from ddz_training.measure.match.results import OnProgress, check_settings, no_progress

SOURCE = ("ddz_training.learn",)


class Round(NamedTuple):
    """A round that is done.

    Attributes:
        number: From 1.
        policy: The file of what it taught.
        divergences: As in the file: see :class:`ddz_training.learn.expert.lessons.Taught`.
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
    on_step: Callable[[ImitationProgress], None] | None = None,
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
            save_weights(path, _taught(config, place, init, known, threads, on_step))
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


def _taught(
    config: ExpertConfig,
    place: Path,
    policy: Path | None,
    known: Provenance,
    threads: int | None,
    on_step: Callable[[ImitationProgress], None] | None,
) -> Weights:
    """What a policy has learned from the games of a round; the critic stays as it was."""
    start = load_weights(policy or shipped_policy_path())
    found = teach(load_recorded(place), config, start.policy, threads, on_step)
    notes = {"settings": config.as_dict(), "divergences": list(found.divergences)} | known.settings()
    # The policy's own value is not taught, and the layers below it have changed.
    return Weights(found.policy, start.critic, config.rules, start.objective, notes, values_trained=False)
