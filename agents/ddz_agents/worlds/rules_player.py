"""The rule agent as a player model: its move is the centre, a fitted response says how players stray from it.

Three responses were fitted (by release 0.2.0, ``training/experiments/response_fit.py``) by counting how
the true holder of the cards moved, in games of three kinds of players: the rule agent itself, information-set UCT, and
uniformly random play.
"""

# mypy: disable-error-code="arg-type"
# (To Numba NumPy's integers and Python's are one type, to the checker they are two.)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ddz_agents.rules.rules import rules_move
from ddz_agents.rules.scratch import RuleScratch, new_rule_scratch
from ddz_agents.rules.weights import WEIGHTS
from ddz_agents.worlds.likelihood import (
    FACTS,
    KINDS,
    N_KINDS,
    N_SITUATIONS,
    SITUATIONS,
    T_KICKERS,
    T_UNIFORM,
    TABLE_WORDS,
    describe,
    log_likelihood,
)
from ddz_agents.worlds.player_model import InvalidInferenceOptionError
from ddz_agents.worlds.story import S_KICKERS, S_MAIN, S_SEAT, Story, set_back
from ddz_env.core.engine.compiling import kernel, pure_kernel
from ddz_env.core.engine.layout import ROW_WORDS
from ddz_env.core.engine.step import play_move
from ddz_env.core.notation import Move, counts_to_word
from ddz_env.core.owned import OwnsArrays
from ddz_env.core.rules import Rules


@dataclass(frozen=True)
class Response:
    """How a kind of player strays from the rule agent's move.

    Attributes:
        kinds: The relative frequency of each of ``KINDS`` in each of ``SITUATIONS``, five rows of seven.  Kinds that a
            hand does not offer are left out and the others scaled up.
        kickers: How often the rule agent's own kickers ride along where its own main group is played.
        uniform: The share of the player that draws any legal move; the floor under every legal move.

    Raises:
        InvalidInferenceOptionError: If a frequency is negative, the policy's own move has none, or a share is outside
            0..1 (0 and 1 excluded for ``kickers``, 0 for ``uniform``).
    """

    kinds: tuple[tuple[float, ...], ...]
    kickers: float
    uniform: float

    def __post_init__(self) -> None:
        table = np.asarray(self.kinds, np.float64)
        if table.shape != (N_SITUATIONS, N_KINDS):
            raise InvalidInferenceOptionError(
                f"kinds must be {N_SITUATIONS} rows ({', '.join(SITUATIONS)}) of {N_KINDS} ({', '.join(KINDS)})"
            )
        if not (np.isfinite(table).all() and (table >= 0).all() and (table[:, 0] > 0).all()):
            raise InvalidInferenceOptionError("kinds must be finite and not negative, and above 0 for the same move")
        if not 0 < self.kickers < 1:
            raise InvalidInferenceOptionError(f"kickers={self.kickers!r} must be between 0 and 1")
        if not 0 < self.uniform <= 1:
            raise InvalidInferenceOptionError(f"uniform={self.uniform!r} must be above 0 and at most 1")

    def table(self) -> npt.NDArray[np.float64]:
        """The numbers as kernels read them, shape ``[TABLE_WORDS]``, float64."""
        table = np.zeros(TABLE_WORDS)
        table[:T_KICKERS] = np.asarray(self.kinds).ravel()
        table[T_KICKERS], table[T_UNIFORM] = self.kickers, self.uniform
        return table


@pure_kernel
def describe_decision(
    row: np.ndarray, rules: np.ndarray, move: tuple[np.uint64, np.uint64], mind: RuleScratch, facts: np.ndarray
) -> None:
    """Ask the rule agent, and write what the likelihood of an observed move depends on.

    Args:
        row: The position before the move, shape ``[32]``, in the play stage.
        rules: The rules array.
        move: The main group that was played, and its kickers as a hand.
        mind: The rule agent's memory.
        facts: Output, shape ``[FACTS]``, float64 (:func:`ddz_agents.worlds.likelihood.describe`).
    """
    describe(row, rules, mind.mask, move, rules_move(row, rules, mind, WEIGHTS), facts)


@kernel
def _one_decision(
    rows: np.ndarray, rules: np.ndarray, move: tuple[np.uint64, np.uint64], table: np.ndarray, mind: RuleScratch
) -> np.ndarray:
    """The log-likelihood of one move in every row, shape ``[n]``."""
    logs, facts = np.empty(rows.shape[0]), np.empty(FACTS)
    for index in range(rows.shape[0]):
        describe_decision(rows[index], rules, move, mind, facts)
        logs[index] = log_likelihood(facts, table)
    return logs


@kernel
def _whole_story(
    story: Story, hands: np.ndarray, weighed: np.ndarray, rules: np.ndarray, tables: np.ndarray, mind: RuleScratch
) -> np.ndarray:
    """Walk through the story once a particle: the log-likelihoods of each seat's moves, ``[n, tables, 3]``."""
    logs = np.zeros((hands.shape[0], tables.shape[0], 3))
    facts, row = np.empty(FACTS), np.empty(ROW_WORDS, np.uint64)
    end = weighed.shape[0]
    while end > 0 and not weighed[end - 1]:
        end -= 1
    for particle in range(hands.shape[0]):
        set_back(story, hands[particle], row)
        for index in range(end):
            main, kickers = story.moves[index, S_MAIN], story.moves[index, S_KICKERS]
            if weighed[index]:
                describe_decision(row, rules, (main, kickers), mind, facts)
                seat = np.int64(story.moves[index, S_SEAT])
                for table in range(tables.shape[0]):
                    logs[particle, table, seat] += log_likelihood(facts, tables[table])
            play_move(row, main, kickers, rules)
    return logs


def describe_move(row: npt.NDArray[np.uint64], rules: Rules, move: Move) -> npt.NDArray[np.float64]:
    """The facts of one decision (:func:`ddz_agents.worlds.likelihood.describe`), shape ``[FACTS]``, float64.

    Args:
        row: The position before the move, shape ``[32]``, in the play stage.
        rules: The rules.
        move: What was played.
    """
    facts = np.empty(FACTS)
    describe_decision(row, rules.words(), _words_of(move), new_rule_scratch(), facts)
    return facts


def _words_of(move: Move) -> tuple[np.uint64, np.uint64]:
    return np.uint64(move.main), np.uint64(counts_to_word(move.kicker_counts))


class RulesPlayer(OwnsArrays):
    """Believes that a seat plays like the rule agent, up to a response.

    Args:
        response: How it strays.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> move = RulesPlayer(SEARCHER).log_likelihood(state.row[None], state.rules, 0, state.legal_moves()[0])
        >>> move.shape, bool(move[0] < 0)
        ((1,), True)
    """

    def __init__(self, response: Response) -> None:
        self.response = response
        self._table = response.table()
        self._mind = new_rule_scratch()

    def __repr__(self) -> str:
        return f"RulesPlayer({self.response!r})"

    def log_likelihood(
        self, rows: npt.NDArray[np.uint64], rules: Rules, seat: int, move: Move
    ) -> npt.NDArray[np.float64]:
        """The log-probability of a move in each position: see :class:`ddz_agents.worlds.player_model.PlayerModel`."""
        return np.asarray(_one_decision(rows, rules.words(), _words_of(move), self._table, self._mind))


def rules_story_log_likelihoods(
    models: Sequence[RulesPlayer],
    story: Story,
    hands: npt.NDArray[np.uint64],
    weighed: npt.NDArray[np.bool_],
    rules: Rules,
) -> npt.NDArray[np.float64]:
    """:func:`ddz_agents.worlds.player_model.story_log_likelihoods` in one compiled walk.

    The rule agent is asked once a decision and particle, however many responses there are.

    Args:
        models: The models.
        story: The public history.
        hands: The particles, shape ``[n, 4]``, uint64.
        weighed: Which decisions of the story are weighed, shape ``[moves]``.
        rules: The rules.

    Returns:
        Shape ``[n, models, 3]``, float64.
    """
    tables = np.stack([model.response.table() for model in models])
    return np.asarray(_whole_story(story, hands, weighed, rules.words(), tables, new_rule_scratch()))


FAITHFUL = Response(((1.0,) + (0.02,) * 6,) * 5, kickers=0.98, uniform=0.02)
"""A player that follows the rule agent.  The fit says "always"; this is blunter, so that one slip is forgiven."""

SEARCHER = Response(
    (
        (0.392, 0.184, 0.026, 0.383, 0.015, 0.001, 0.001),
        (0.413, 0.277, 0.157, 0.001, 0.001, 0.093, 0.060),
        (0.354, 0.207, 0.240, 0.001, 0.001, 0.070, 0.129),
        (0.001, 0.001, 0.001, 0.409, 0.181, 0.409, 0.001),
        (0.563, 0.001, 0.001, 0.150, 0.133, 0.154, 0.001),
    ),
    kickers=0.999,
    uniform=0.303,
)
"""A player that searches: information-set UCT with 2,000 iterations."""

ANYTHING = Response(((1.0,) * 7,) * 5, kickers=0.5, uniform=1.0)
"""A player that draws uniformly from its legal moves; nothing is fitted."""

RESPONSES = (FAITHFUL, SEARCHER, ANYTHING)
"""The kinds of players that a hidden seat may be, equally likely before it has moved."""
