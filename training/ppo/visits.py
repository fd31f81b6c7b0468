"""The decisions of a search agent with its visit counts, recorded once to be imitated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.neural.errors import TensorFileMismatchError
from agents.neural.model import Bytes, Floats
from agents.neural.tensor_file import Arrays, read_tensor_file, write_tensor_file
from ddz_env import State
from ddz_env.actions import NUM_ACTIONS
from ddz_env.agent import Decision, cheats, close, reset
from ddz_env.generators import published_generator
from ddz_env.observation import OBSERVATION_SIZE, action_mask, observe
from ddz_env.playing import seat_generators
from ddz_env.registry import make_agent
from training.arena.one_writer import writing
from training.arena.provenance import Provenance
from training.ppo.errors import InvalidTrainingError

KIND = "ddz-visits"
VERSION = 1
_SAVED_EVERY = 5
"""Games between two replacements of a file that grows."""


@dataclass
class VisitSet:
    """Decisions and how often each action was visited.

    Attributes:
        observations: Shape ``[n, OBSERVATION_SIZE]``, int8.
        legal: Masks as bits, shape ``[n, 50]``, uint8.
        firsts: Where each decision's actions begin, shape ``[n + 1]``, int64.
        actions: Their actions, shape ``[visited]``, int16.
        counts: Their visits, shape ``[visited]``, int32.
    """

    observations: Bytes
    legal: npt.NDArray[np.uint8]
    firsts: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int16]
    counts: npt.NDArray[np.int32]

    def masks(self, rows: npt.NDArray[np.int64]) -> Bytes:
        """Masks of some decisions as bytes, shape ``[rows, 400]``, int8."""
        return np.unpackbits(self.legal[rows], axis=1, count=NUM_ACTIONS).view(np.int8)

    def shares(self, rows: npt.NDArray[np.int64]) -> Floats:
        """The share of the visits that each action had, shape ``[rows, 400]``, float32; rows sum to 1."""
        shares = np.zeros((len(rows), NUM_ACTIONS), np.float32)
        for place, row in enumerate(rows.tolist()):
            part = slice(int(self.firsts[row]), int(self.firsts[row + 1]))
            shares[place, self.actions[part]] = self.counts[part] / self.counts[part].sum()
        return shares


class _Recorder:
    """Collects decisions."""

    def __init__(self) -> None:
        self._noted: list[tuple[Bytes, npt.NDArray[np.uint8], dict[int, int]]] = []

    def note(self, state: State, decision: Decision) -> None:
        """Note the first stage by its visits, and the kickers as they were chosen: their visits are not told."""
        twin = state.copy()
        for place, action in enumerate(decision.move.actions):
            mask = action_mask(twin)
            visits = {a: n for a, n in decision.visits.items() if n > 0} if place == 0 else {action: 1}
            if visits and np.count_nonzero(mask) > 1:
                self._noted.append((observe(twin), np.packbits(mask.view(np.uint8)), visits))
            twin.step_action(action)

    def finish(self) -> VisitSet:
        """Everything noted."""
        pairs = [pair for *_, visits in self._noted for pair in sorted(visits.items())]
        return VisitSet(
            np.array([seen for seen, *_ in self._noted], np.int8).reshape(-1, OBSERVATION_SIZE),
            np.array([legal for _, legal, _ in self._noted], np.uint8).reshape(-1, -(-NUM_ACTIONS // 8)),
            np.cumsum([0, *(len(visits) for *_, visits in self._noted)], dtype=np.int64),
            np.array([action for action, _ in pairs], np.int16),
            np.array([count for _, count in pairs], np.int32),
        )


def record_visits(
    spec: str,
    games: int,
    *,
    rules: str = "standard",
    seed: int = 0,
    first_game: int = 0,
    on_game: Callable[[int], None] | None = None,
) -> VisitSet:
    """Let a search agent play against itself and note what it thinks.

    Args:
        spec: The agent, as for :func:`ddz_env.registry.make_agent`; it must have ``decide`` and must not cheat.
        games: How many games.
        rules: A preset's name.
        seed: Seed of the deals and the agent.
        first_game: Number of the first game.
        on_game: Called with the number of the next game, after each.

    Raises:
        InvalidTrainingError: If there are no games, the agent does not tell its visits, or it cheats.
        UnknownAgentError: If it does not exist.
    """
    if games < 1:
        raise InvalidTrainingError(f"games={games} must be at least 1")
    agent: Any = make_agent(spec)
    if not hasattr(agent, "decide") or cheats(agent):
        raise InvalidTrainingError(f"{spec!r} cannot be imitated: it must tell its visits (decide) and not cheat")
    recorder = _Recorder()
    for game in range(first_game, first_game + games):
        state = State.new(seed, rules, game)
        for seat in range(state.rules.players):
            reset(agent, seat, state.rules)
        rngs = seat_generators([seed, game], state.rules.players, published_generator)
        while not state.is_over:
            decision = agent.decide(state.view(), rngs[state.seat])
            recorder.note(state, decision)
            state.step(decision.move)
        if on_game:
            on_game(game + 1)
    close(agent)
    return recorder.finish()


def join_visits(one: VisitSet, other: VisitSet) -> VisitSet:
    """The decisions of both, in their order."""
    both = {name: np.concatenate([part, vars(other)[name]]) for name, part in vars(one).items()}
    firsts = np.concatenate([one.firsts, one.firsts[-1] + other.firsts[1:]])
    return VisitSet(**both | {"firsts": firsts})


def record_to_file(
    path: Path, spec: str, games: int, *, rules: str, seed: int, on_game: Callable[[int], None] | None = None
) -> VisitSet:
    """Record games into a file that grows; a file with fewer of the same games is completed.

    Args:
        path: The file; it is replaced atomically every few games.
        spec: As for :func:`record_visits`, like the others.
        games: How many games in all.
        rules: A preset's name.
        seed: Seed of the deals and the agent.
        on_game: Called with the number of games in all, after each.

    Raises:
        InvalidTrainingError: If the file holds the games of another agent, other rules or another seed.
        AgentChangedError: If a file that the agent reads has been replaced since.
        OtherCodeError: If the file was written by other code and that is not allowed
            (:func:`training.arena.provenance.other_code`).
        InUseError: If another process writes it.
        TensorFileError: If it cannot be read or written.
    """
    with writing(path):
        return _record_to_file(path, spec, games, rules, seed, on_game)


def _record_to_file(
    path: Path, spec: str, games: int, rules: str, seed: int, on_game: Callable[[int], None] | None
) -> VisitSet:
    about = {"agent": spec, "rules": rules, "seed": seed}
    found, done, provenance = None, 0, Provenance.of([spec])
    if path.exists():
        arrays, saved = read_tensor_file(path, KIND, VERSION)
        done, said = int(saved.pop("games", 0)), Provenance.take(saved)
        if saved != about:
            raise InvalidTrainingError(f"{path} holds other games: {saved}; these are {about}")
        found = _visit_set(path, arrays)
        if done < games:
            provenance = provenance.resuming(said, path)
    while done < games:
        part = record_visits(
            spec, min(_SAVED_EVERY, games - done), rules=rules, seed=seed, first_game=done, on_game=on_game
        )
        found = part if found is None else join_visits(found, part)
        done = min(done + _SAVED_EVERY, games)
        save_visits(path, found, {**about, **provenance.settings(), "games": done})
    assert found is not None
    return found


def save_visits(path: str | Path, visits: VisitSet, about: dict[str, Any]) -> None:
    """Write recorded decisions.

    Args:
        path: The file.
        visits: The decisions.
        about: Plain values: who thought, on which games.

    Raises:
        TensorFileError: If the file cannot be written.
    """
    write_tensor_file(path, KIND, VERSION, vars(visits), about)


def load_visits(path: str | Path) -> VisitSet:
    """Read recorded decisions.

    Raises:
        TensorFileError: If the file is missing, truncated, corrupt or of another format.
        TensorFileMismatchError: If it was written for other observations or actions.
    """
    return _visit_set(path, read_tensor_file(path, KIND, VERSION)[0])


def _visit_set(path: str | Path, arrays: Arrays) -> VisitSet:
    wanted = [field.name for field in fields(VisitSet)]
    if set(arrays) != set(wanted):
        raise TensorFileMismatchError(f"{path} holds {', '.join(arrays)}; recorded visits are {', '.join(wanted)}")
    return VisitSet(**arrays)
