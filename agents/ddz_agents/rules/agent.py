"""The rule agent and its variants, which can play one game or many games in one compiled call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import get_ident
from typing import Literal

import numpy as np
import numpy.typing as npt

from ddz_agents.rules import weights as of
from ddz_agents.rules.rules import next_action, rules_move
from ddz_agents.rules.workspace import RuleWorkspace, new_rule_workspace
from ddz_env import Move, Rules, View
from ddz_env.core.engine.layout import CHOSEN, LANDLORD, SIZES, STAGE, STAGE_KICKER, STAGE_OVER
from ddz_env.core.engine.legal import is_legal_action, write_legal_mask
from ddz_env.core.engine.words import U0
from ddz_env.playing.agent import check_to_act
from ddz_env.playing.many import WaitingGames
from ddz_env.support.arrays import WritableAfterUnpickling
from ddz_env.support.compiling import pure_kernel
from ddz_env.support.errors import InvalidOptionError
from ddz_env.support.options import Options, takes_options
from ddz_env.support.threads import MAX_THREADS

NO_LABEL = -1
"""The answer where the teacher has none: a half-built move that it would never have built."""
Rule = Literal["pass", "bombs", "control"]

_FEW_CARDS = 3
"""Fewer cards than these in an enemy's hand are a key moment."""
_SEAT_BITS = 8


def choose_move(row: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, weights: np.ndarray = of.WEIGHTS) -> Move:
    """Return the rule agent's move as a ``Move`` object, for callers outside compiled code."""
    main, kickers = rules_move(row, rules, workspace, weights)
    return Move.from_words(int(main), int(kickers))


class RulesAgentBase(WritableAfterUnpickling):
    """Base class of the rule agents, which play by hand decomposition without search or randomness."""

    name: str

    def __init__(self) -> None:
        self._workspace = new_rule_workspace()

    def weights(self, view: View) -> npt.NDArray[np.int64]:
        """Return the rule weights for a seat, in the shape of :data:`~ddz_agents.rules.weights.WEIGHTS`."""
        return of.WEIGHTS

    def observed_row(self, view: View) -> npt.NDArray[np.uint64]:
        """Return the game-state array that the agent reads, in which a subclass may hide information."""
        return view.row

    def act(self, view: View, rng: np.random.Generator) -> Move:
        """Choose a move by the agent's hand-written rules, without using the random generator.

        Raises:
            IllegalMoveError: If it is not the seat's turn.
        """
        check_to_act(view)
        return choose_move(self.observed_row(view), view.rule_words, self._workspace, self.weights(view))


class RulesAgent(RulesAgentBase):
    """Plays by hand decomposition and hand-written rules; a decision takes microseconds.

    Example:
        >>> from ddz_env import State
        >>> state = State.new(seed=1)
        >>> RulesAgent().act(state.view(), np.random.default_rng(0)) in state.legal_moves()
        True
    """

    name = "rules"
    same_in_batches = parallel = True

    def act_many(self, waiting: WaitingGames) -> npt.NDArray[np.uint64]:
        """Choose moves as :meth:`act` does, but for many games in one compiled call (:mod:`ddz_env.playing.many`)."""
        moves = np.empty((len(waiting.rows), 2), np.uint64)
        _choose_moves(waiting.rows, waiting.rules.words(), _thread_workspace(get_ident()), of.WEIGHTS, moves)
        return moves


class RulesTunedAgent(RulesAgentBase):
    """The rule agent with tuned weights, different ones for landlords and for peasants."""

    name = "rules-tuned"

    def weights(self, view: View) -> npt.NDArray[np.int64]:
        """Return the tuned weights for the seat's role."""
        return of.TUNED_LANDLORD if view.landlord in (None, view.seat) else of.TUNED_PEASANTS


@dataclass(frozen=True)
class RulesWithoutOptions(Options):
    """The option of ``rules-without``: which rule is left out.

    Attributes:
        rule: ``pass`` (do not pass lightly), ``bombs`` (keep bombs) or ``control`` (control at key moments).
    """

    rule: Rule = "control"


class RulesWithoutAgent(RulesAgentBase):
    """The rule agent without one of its rules: ``rules-without:rule=bombs``.

    The rules are those that the thesis of 2020 (Peking University, section 5.4.1) takes from a bot one at a time:

    - ``pass``, 不要轻易过牌, do not pass lightly: a move that holds the trick counts, a move may make the hand a little
      dearer, and more so where an enemy has few cards.  Without it only a move that makes the hand cheaper is played.
    - ``bombs``, 尽量留炸弹, keep bombs: a bomb or rocket in the hand makes it cheaper, and a bomb must gain more than
      of another move.  Without it a bomb is worth keeping no more than any move that nothing beats, and answers as
      others do.
    - ``control``, 关键时刻控场, control at key moments: against an enemy with one card no solo, with two no pair, and
      such a card is stopped.  Without it the agent does not see that an enemy has fewer than three cards.

    Raises:
        InvalidAgentOptionError: If there is no such rule.
    """

    name = "rules-without"

    @takes_options(RulesWithoutOptions)
    def __init__(self, options: RulesWithoutOptions) -> None:
        super().__init__()
        self.options = options
        self._weights = weights_without_rule(options.rule)

    def weights(self, view: View) -> npt.NDArray[np.int64]:
        """Return the rule agent's weights with the left-out rule switched off."""
        return self._weights

    def observed_row(self, view: View) -> npt.NDArray[np.uint64]:
        """Return the view's game-state array, with low enemy card counts hidden if ``control`` is left out."""
        return hide_few_cards(view.row, view.seat) if self.options.rule == "control" else view.row


def weights_without_rule(rule: Rule) -> npt.NDArray[np.int64]:
    """Return a copy of the rule agent's default weights with one rule switched off."""
    weights = of.WEIGHTS.copy()
    if rule == "pass":
        weights[[of.FOLLOW_HOLD, of.FOLLOW_NEED, of.FOLLOW_URGENT]] = 0
    elif rule == "bombs":
        weights[[of.BOMB, of.ROCKET]] = 0
        weights[[of.BOMB_NEED, of.BOMB_URGENT]] = weights[[of.FOLLOW_NEED, of.FOLLOW_URGENT]]
    return weights


def hide_few_cards(row: npt.NDArray[np.uint64], seat: int) -> npt.NDArray[np.uint64]:
    """Return a copy of a view's game-state array in which every enemy seems to have at least three cards.

    Args:
        row: The row of a view, shape ``[ROW_WORDS]``; it stays as it is.
        seat: Whose view it is.
    """
    shown, landlord, sizes = row.copy(), int(row[LANDLORD]), int(row[SIZES])
    for other in range(3):
        size = sizes >> _SEAT_BITS * other & 0xFF
        if other != seat and landlord in (seat, other) and 0 < size < _FEW_CARDS:
            sizes += _FEW_CARDS - size << _SEAT_BITS * other
    shown[SIZES] = sizes
    return shown


@pure_kernel
def label_actions(
    rows: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray, plans: np.ndarray, actions: np.ndarray
) -> None:
    """Write the rule agent's next action in each game, be it a main group, a kicker or a bid.

    Args:
        rows: The games, shape ``[n, 32]``, uint64; unchanged.
        rules: The rules array.
        workspace: The teacher's memory.
        w: Its weights.
        plans: Main group and kickers last planned in each game, shape ``[n, 2]``, uint64; changed in place.
        actions: Output, shape ``[n]``, int64; ``NO_LABEL`` where the game is over or the teacher has no answer.
    """
    for index in range(rows.shape[0]):
        row, plan = rows[index], plans[index]
        actions[index] = NO_LABEL
        if row[STAGE] == STAGE_OVER:
            continue
        action = next_action(row, rules, workspace, w, plan)
        if row[STAGE] == STAGE_KICKER:
            # A hand is planes of thresholds: a part of the plan has no bit that the plan has not.
            if row[CHOSEN] & ~plan[1] != U0 or row[CHOSEN] == plan[1]:
                continue
            write_legal_mask(row, rules, workspace.mask)
            if not is_legal_action(workspace.mask, action):
                continue
        actions[index] = np.int64(action)


@pure_kernel
def _choose_moves(
    rows: np.ndarray, rules: np.ndarray, workspace: RuleWorkspace, w: np.ndarray, moves: np.ndarray
) -> None:
    """Write the rule agent's complete move in each game, as a main-group id and its kickers."""
    for index in range(rows.shape[0]):
        moves[index, 0], moves[index, 1] = rules_move(rows[index], rules, workspace, w)


@lru_cache(maxsize=MAX_THREADS)
def _thread_workspace(_thread: int) -> RuleWorkspace:
    """Return the working memory in which one thread chooses moves for many games."""
    return new_rule_workspace()


class RulesTeacher(WritableAfterUnpickling):
    """The rule agent as an imitation teacher, which labels ``n`` games that advance side by side.

    The kickers of a move that it chose itself are those of its plan; if the game took another main group, they are
    those that it would give that group.  A move is finished before another seat acts, so a game needs one plan.  It
    reads only what the seat to act may know.

    Args:
        num_games: How many games.
        rules: A preset's name or a :class:`~ddz_env.Rules`.

    Attributes:
        plans: Main group and kickers last planned in each game, shape ``[n, 2]``, uint64.

    Raises:
        InvalidRulesError: If the preset is unknown.
    """

    def __init__(self, num_games: int, rules: str | Rules = "standard") -> None:
        self._rule_words = Rules.preset(rules).words()
        self.plans = np.zeros((num_games, 2), np.uint64)

    def labels(self, rows: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the action that the rule agent would take in each game.

        Args:
            rows: The games now, shape ``[n, 32]``, uint64; the same games, in the same order, as before.

        Returns:
            Shape ``[n]``, int64, a new array: action ids, ``NO_LABEL`` where the agent has no answer.

        Raises:
            InvalidOptionError: If the number of games is not the one the teacher was made for.
        """
        if rows.shape[0] != self.plans.shape[0]:
            raise InvalidOptionError(f"the teacher was made for {self.plans.shape[0]} games, not {rows.shape[0]}")
        actions = np.empty(len(rows), np.int64)
        label_actions(rows, self._rule_words, _thread_workspace(get_ident()), of.WEIGHTS, self.plans, actions)
        return actions
