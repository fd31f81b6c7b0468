"""What hand inference asks of a player model, and the walk through a story that any model can take."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ddz_agents.worlds.determinize import Reals, Words
from ddz_agents.worlds.story import S_KICKERS, S_MAIN, S_SEAT, Story, first_rows, play_all
from ddz_env.core.engine.layout import HISTORY_MOVES
from ddz_env.core.engine.step import apply_and_record
from ddz_env.core.errors import DouDizhuError
from ddz_env.core.notation import Move
from ddz_env.core.rules import Rules


class InvalidInferenceOptionError(DouDizhuError):
    """An option of hand inference outside its range, or a model that answers with something else than was asked."""


@runtime_checkable
class PlayerModel(Protocol):
    """What a seat is believed to play: the plug-in of hand inference.

    A model whose ``log_likelihood`` takes ``ring`` as well is given the moves before, as observations show them.
    """

    def log_likelihood(self, rows: Words, rules: Rules, seat: int, move: Move) -> Reals:
        """The log-probability of a move in each of several positions.

        Args:
            rows: Full rows, shape ``[n, 32]``, uint64, equal in everything public; not to be changed.  A model of an
                honest player reads nothing that the seat cannot see.
            rules: The rules.
            seat: The seat to act in all of them.
            move: What it played.

        Returns:
            Shape ``[n]``, float64, finite: a model that is sure of itself is wrong one day, and a particle that is
            struck out never comes back.
        """
        ...


def story_log_likelihoods(
    models: Sequence[PlayerModel], story: Story, hands: Words, weighed: npt.NDArray[np.bool_], rules: Rules
) -> Reals:
    """Ask each model about every decision that is to be weighed, batched over particles.

    Args:
        models: The models.
        story: The public history.
        hands: The particles, shape ``[n, 4]``, uint64.
        weighed: Which decisions of the story are weighed, shape ``[moves]``.
        rules: The rules.

    Returns:
        The sums of the log-likelihoods of each seat's decisions, shape ``[n, models, 3]``, float64.

    Raises:
        InvalidInferenceOptionError: If a model answers with another shape or with something that is not finite.
    """
    logs = np.zeros((len(hands), len(models), 3))
    if not weighed.any():
        return logs
    words = rules.words()
    rows = first_rows(story, hands)
    ring = np.zeros((HISTORY_MOVES, 2), np.uint64)
    remembers = ["ring" in inspect.signature(model.log_likelihood).parameters for model in models]
    for index in range(int(np.flatnonzero(weighed)[-1]) + 1):
        entry = story.moves[index]
        if weighed[index]:
            seat, move = int(entry[S_SEAT]), Move.from_words(int(entry[S_MAIN]), int(entry[S_KICKERS]))
            for number, model in enumerate(models):
                past: dict[str, Any] = {"ring": ring} if remembers[number] else {}
                answer = np.asarray(model.log_likelihood(rows, rules, seat, move, **past), np.float64)
                if answer.shape != (len(hands),) or not np.isfinite(answer).all():
                    raise InvalidInferenceOptionError(
                        f"{model!r} must answer with {len(hands)} finite log-probabilities for {move} of seat {seat}, "
                        f"not with {answer!r}"
                    )
                logs[:, number, seat] += answer
        _remember(ring, rows[0], Move.from_words(int(entry[S_MAIN]), int(entry[S_KICKERS])), words)
        play_all(rows, entry, words)
    return logs


def _remember(ring: Words, row: Words, move: Move, rules: Words) -> None:
    """Enter a move in the ring; it is public, so any particle's row will do."""
    game = row.copy()
    for action in move.actions:
        apply_and_record(game, ring, np.uint64(action), rules)
