"""The user-facing game state: :class:`State` wraps a game-state array and checks every input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import check_action
from ddz_env.core.cards import NUM_RANKS
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.deal import cut_pile, deal_packets, deal_rest, new_game, start_game
from ddz_env.core.engine.kickers import are_kickers_legal
from ddz_env.core.engine.legal import is_legal_action, write_legal_mask
from ddz_env.core.engine.random import stream_state
from ddz_env.core.engine.score import SCORE_BOTZONE, SCORE_STAKE, SCORE_WIN, write_returns
from ddz_env.core.engine.step import apply_and_record, body_cards
from ddz_env.core.engine.tables import MASK_WORDS
from ddz_env.core.engine.unshuffled import new_unshuffled_game
from ddz_env.core.engine.worlds import play_to_end, play_to_end_repeatedly, sample_world
from ddz_env.core.given_hands import check_dealt_hands, read_hand, remaining_unseen_cards, undealt_cards
from ddz_env.core.notation import Hand, Move, decode_slot
from ddz_env.core.refusals import explain_illegal_move, illegal_action_error
from ddz_env.core.rules import Rules
from ddz_env.core.view import (
    STAGE_NAMES,
    View,
    check_view_cards,
    list_legal_actions,
    list_legal_moves,
    role_name,
    write_view,
)
from ddz_env.support.arrays import copy_readonly_arrays
from ddz_env.support.checks import check_choice, check_flag, check_integer, check_seed
from ddz_env.support.errors import (
    GameOverError,
    IllegalMoveError,
    InvalidDealError,
    InvalidMoveError,
    InvalidRulesError,
    pluralize,
    short_repr,
)

SCORINGS: Mapping[str, int] = {"win": SCORE_WIN, "stake": SCORE_STAKE, "botzone": SCORE_BOTZONE}


def game_key(seed: int, game: int = 0) -> np.uint64:
    """Return the initial random-generator state of the game with a given number under a seed.

    Raises:
        InvalidDealError: If seed or number is negative or needs more than 64 bits.
    """
    return np.uint64(stream_state(np.uint64(check_seed(seed)), np.uint64(check_seed(game, "game"))))


class State:
    """One game of Dou Dizhu, for use by one thread at a time: give every other thread its own :meth:`copy`.

    Example:
        >>> state = State.new(seed=1)
        >>> state.role(), len(state.hand(0))
        ('landlord', 20)
        >>> state.step(state.legal_moves()[0])
        >>> state.seat
        1
    """

    __slots__ = ("_log", "_ring", "_row", "_rule_words", "_rules")

    def __init__(self, row: npt.NDArray[np.uint64], rules: Rules) -> None:
        if not isinstance(row, np.ndarray) or row.shape != (at.ROW_WORDS,) or row.dtype != np.uint64:
            raise InvalidDealError(
                f"a row is uint64 of shape [{at.ROW_WORDS}], not {short_repr(row)}; State.new deals one"
            )
        if not isinstance(rules, Rules):
            raise InvalidRulesError(
                f"rules must be a Rules, not {short_repr(rules)}; Rules.preset makes one from a name"
            )
        self._row, self._rules = row, rules
        self._rule_words = rules.words()
        self._ring = np.zeros((at.HISTORY_MOVES, at.HISTORY_WORDS), np.uint64)
        self._log: list[tuple[int, Move]] = []

    @classmethod
    def new(cls, seed: int = 0, rules: str | Rules = "standard", game: int = 0) -> State:
        """Deal a new game, identified by a seed and a game number.

        Args:
            seed: Any integer in 0..2**64-1; the same seed gives the same deal on every platform.
            rules: A preset's name or a :class:`Rules`.
            game: Number of the game under that seed.

        Raises:
            InvalidRulesError: If the preset is unknown.
            InvalidDealError: If the seed is out of range.
        """
        rules = Rules.preset(rules)
        row = np.zeros(at.ROW_WORDS, np.uint64)
        if rules.unshuffled:
            new_unshuffled_game(row, game_key(seed, game), rules.words(), np.empty(MASK_WORDS, np.uint64))
        else:
            new_game(row, game_key(seed, game), rules.words())
        return cls(row, rules)

    @classmethod
    def from_hands(
        cls,
        hands: Sequence[str | Hand],
        bottom: str | Hand = "",
        rules: str | Rules = "standard",
        *,
        check_sizes: bool = True,
        seed: int = 0,
    ) -> State:
        """Start a game from given hands and landlord cards.

        Args:
            hands: One hand per seat, as dealt, *without* the landlord cards.
            bottom: The landlord cards.
            rules: A preset's name or a :class:`Rules`.
            check_sizes: Whether the hands must have the sizes that the rules deal; set it to False for endgames
                (cards in no hand then count as undealt, or as left out).
            seed: Generator of the opener and of later deals in an auction.

        Raises:
            InvalidDealError: If the number or size of the hands is wrong or the deck lacks the cards.
            InvalidHandError: If a hand cannot be read.
        """
        rules, check_sizes = Rules.preset(rules), check_flag("check_sizes", check_sizes)
        if isinstance(hands, str) or not isinstance(hands, Sequence):
            raise InvalidDealError(f"hands are a list with one hand per seat, not {short_repr(hands)}")
        *dealt, low = (hand if isinstance(hand, Hand) else Hand.parse(hand) for hand in (*hands, bottom))
        check_dealt_hands(dealt, low, rules, sizes=check_sizes and not rules.half_deck)
        row = np.zeros(at.ROW_WORDS, np.uint64)
        row[at.HANDS : at.HANDS + len(dealt)] = [hand.word for hand in dealt]
        row[at.BOTTOM] = low.word
        row[at.LEFT_OUT if rules.left_out_open else at.HIDDEN] = undealt_cards(rules, [*dealt, low]).word
        row[at.RNG] = game_key(seed)
        start_game(row, rules.words())
        return cls(row, rules)

    @classmethod
    def from_view(cls, view: View, hands: Sequence[str | Hand | int] | npt.NDArray[np.uint64], seed: int = 0) -> State:
        """Build a game from a seat's view and the hands of all seats.

        Args:
            view: What a seat knows.
            hands: One per seat, the observer's own included, as text, as a :class:`Hand`, or as a word
                (a row of :meth:`View.sample_worlds` will do); the cards that remain are in no hand.
            seed: Generator of later deals in an auction.

        Raises:
            InconsistentViewError: If the hands contradict what the seat knows.
            InvalidHandError: If a hand cannot be read.
            InvalidDealError: If there are fewer hands than seats.

        Example:
            >>> state = State.new(seed=1)
            >>> State.from_view(
            ...     state.view(), [state.hand(seat) for seat in range(3)]
            ... ).view().key() == state.view().key()
            True
        """
        players = view.rules.players
        if len(hands) < players:
            raise InvalidDealError(
                f"the {view.rules.name} rules have {players} seats, got {pluralize(len(hands), 'hand')}"
            )
        check_view_cards(view.row, view.seat, view.rule_words)
        row, held = view.row.copy(), [read_hand(hand) for hand in hands[:players]]
        row[at.HANDS : at.HANDS + players] = [hand.word for hand in held]
        row[at.SIZES], row[at.RNG] = 0, game_key(seed)
        rest = remaining_unseen_cards(view, held)
        row[at.HIDDEN] = rest.word
        if view.landlord is None and len(rest) == view.rules.bottom:
            row[at.HIDDEN], row[at.BOTTOM] = 0, rest.word
        return cls._from_row_of_view(view, row)

    @classmethod
    def sample(cls, view: View, rng: np.random.Generator) -> State:
        """Draw a game that agrees with everything a seat knows, with all consistent deals equally likely.

        Args:
            view: What the seat knows.
            rng: The only source of randomness.

        Raises:
            InconsistentViewError: If no deal agrees with the view.

        Example:
            >>> view, rng = State.new(seed=1).view(), np.random.default_rng(0)
            >>> world = State.sample(view, rng)
            >>> world.view().key() == view.key(), world.hand(1) == State.sample(view, rng).hand(1)
            (True, False)
        """
        row = np.empty(at.ROW_WORDS, np.uint64)
        state = rng.integers(0, 2**64, dtype=np.uint64)
        if not sample_world(view.row, np.uint64(view.seat), view.rule_words, state, row):
            check_view_cards(view.row, view.seat, view.rule_words)
        return cls._from_row_of_view(view, row)

    @classmethod
    def _from_row_of_view(cls, view: View, row: npt.NDArray[np.uint64]) -> State:
        state = cls.__new__(cls)
        state._row, state._ring, state._log = row, view.ring.copy(), list(view.history)
        state._rules, state._rule_words = view.rules, view.rule_words
        return state

    @property
    def rules(self) -> Rules:
        """The rules of the game."""
        return self._rules

    @property
    def rule_words(self) -> npt.NDArray[np.uint64]:
        """The rules as an array for compiled functions, shape ``[18]``, uint64."""
        return self._rule_words

    @property
    def row(self) -> npt.NDArray[np.uint64]:
        """The game-state array (:mod:`ddz_env.core.engine.layout`), shape ``[32]``, uint64; changes are unchecked."""
        return self._row

    @property
    def ring(self) -> npt.NDArray[np.uint64]:
        """The circular buffer of recent moves as words, shape ``[16, 2]``, uint64."""
        return self._ring

    @property
    def seat(self) -> int:
        """The seat to act (0, 1 or 2)."""
        return int(self._row[at.SEAT])

    @property
    def stage(self) -> str:
        """The stage of the game: ``play``, ``kicker``, ``bid``, ``double``, ``show`` or ``over``."""
        return STAGE_NAMES[int(self._row[at.STAGE])]

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return int(self._row[at.STAGE]) == at.STAGE_OVER

    @property
    def winner(self) -> int | None:
        """The seat that played all its cards; None while the game runs or if everybody declined to bid."""
        winner = int(self._row[at.WINNER]) - 1
        return winner if 0 <= winner < self._rules.players else None

    @property
    def history(self) -> list[tuple[int, Move]]:
        """The completed moves since the deal as ``(seat, move)`` pairs, oldest first."""
        return list(self._log)

    def role(self, seat: int | None = None) -> str | None:
        """Return a seat's role (by default that of the seat to act), or None before there is a landlord."""
        return role_name(self._row, self._seat(seat), self._rules.players)

    def hand(self, seat: int | None = None) -> Hand:
        """Return a seat's hand (by default that of the seat to act)."""
        return Hand.from_word(int(self._row[at.HANDS + self._seat(seat)]))

    @property
    def bottom(self) -> Hand:
        """The landlord cards, which the landlord takes into its hand."""
        return Hand.from_word(int(self._row[at.BOTTOM]))

    def view(self, seat: int | None = None) -> View:
        """Return all that a seat (by default the seat to act) knows of the game, as a :class:`View`."""
        seat = self._seat(seat)
        row = np.empty(at.ROW_WORDS, np.uint64)
        write_view(self._row, seat, self._rule_words, row)
        return View(row, self._rules, self._rule_words.copy(), seat, tuple(self._log), self._ring.copy())

    def legal_actions(self) -> list[int]:
        """List the legal action ids in ascending order; the list is empty when the game is over."""
        return list_legal_actions(self._row, self._rule_words)

    def legal_moves(self) -> list[Move]:
        """List the legal whole moves by action id and then by kickers; the list is empty when the game is over.

        Raises:
            IllegalMoveError: In the middle of a move (after a main group, before its last kicker).
        """
        if int(self._row[at.STAGE]) == at.STAGE_KICKER:
            raise IllegalMoveError("a move is half built: choose its kickers with step_action")
        return list_legal_moves(self._row, self._rule_words)

    def step(self, move: Move | str) -> None:
        """Play a whole move, given as a :class:`Move` or in text notation.

        Args:
            move: A :class:`Move` or its notation.

        Raises:
            GameOverError: If the game has ended.
            InvalidMoveError: If the text is not a move.
            IllegalMoveError: If the position does not allow it.  The game is unchanged.
        """
        self._check_running()
        if isinstance(move, str):
            move = Move.parse(move, self._rules)
        if not isinstance(move, Move):
            raise InvalidMoveError(f"step takes a Move or its notation, not {short_repr(move)}")
        if int(self._row[at.STAGE]) == at.STAGE_KICKER:
            raise IllegalMoveError("a move is half built: choose its kickers with step_action")
        if not self._can_play(move):
            raise IllegalMoveError(explain_illegal_move(self.view(), move))
        for action in move.actions:
            self._apply(action)

    def step_action(self, action: int) -> None:
        """Play one action id: a main group, one kicker, a bid, or a choice whether to show or to double.

        Raises:
            GameOverError: If the game has ended.
            InvalidMoveError: If there is no such id.
            IllegalMoveError: If the id is not legal now.  The game is unchanged.
        """
        self._check_running()
        action = check_action(action)
        if not self._can_act(np.uint64(action)):
            raise illegal_action_error(self.seat, action, self.legal_actions())
        self._apply(action)

    def returns(self, scoring: str | None = None) -> tuple[float, ...]:
        """Return the score of each seat, or zeros while the game runs.

        Args:
            scoring: ``win``, ``stake`` or ``botzone``; the rules' own by default.

        Raises:
            InvalidRulesError: If the scoring is unknown.
        """
        name = self._rules.scoring if scoring is None else check_choice("scoring", scoring, SCORINGS, InvalidRulesError)
        values = np.zeros(3)
        write_returns(self._row, self._rule_words, SCORINGS[name], self._rules.peasant_reward, values)
        return tuple(float(v) for v in values[: self._rules.players])

    def playout(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Play a copy of the game to its end with uniformly random actions, and return each seat's score.

        Args:
            rng: The only source of randomness.

        Example:
            >>> sum(State.new(seed=1).playout(np.random.default_rng(0)))
            0.0
        """
        played = self.copy()
        play_to_end(played._row, self._rule_words, rng.integers(0, 2**64, dtype=np.uint64))
        return played.returns()

    def playouts(self, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Play copies of the game to the end with random actions; return the scores, shape ``[count, players]``.

        Args:
            count: How many.
            rng: The only source of randomness.

        Returns:
            Each seat's return, shape ``[count, players]``, float64.

        Raises:
            InvalidDealError: If the count is negative.
        """
        returns = np.zeros((check_integer("count", count, 0, 2**32, InvalidDealError), 3))
        state, scoring = rng.integers(0, 2**64, dtype=np.uint64), SCORINGS[self._rules.scoring]
        play_to_end_repeatedly(self._row, self._rule_words, state, scoring, self._rules.peasant_reward, returns)
        return returns[:, : self._rules.players]

    def key(self, seat: int | None = None) -> bytes:
        """Return everything that a seat (by default the seat to act) knows, as bytes (:meth:`View.key`)."""
        return self.view(seat).key()

    def next_deal(self, seed: int = 0) -> tuple[tuple[Hand, ...], Hand]:
        """Deal the next game's hands from the cards of this game, under rules that do not shuffle the deck.

        What was played is gathered in playing order, each body before its kickers, and then what was not played, hand
        by hand; the pile is cut where the seed says, and dealt in packets (:mod:`ddz_env.core.engine.deal`).

        Returns:
            One hand per seat, without the landlord cards, and these, as :meth:`from_hands` takes them.

        Raises:
            InvalidRulesError: If the rules shuffle the deck.
            InvalidDealError: If the seed is out of range, or the state does not know all moves of its game.
        """
        if not self._rules.unshuffled:
            raise InvalidRulesError(
                f"the {self._rules.name} rules shuffle: deal with State.new, or use rules with unshuffled=True"
            )
        row = self._row.copy()
        row[at.RNG] = game_key(seed)
        if self.role() is not None:
            row[at.BOTTOM] = 0  # these are in the landlord's hand, or played
        index = cut_pile(row, self._rule_words)
        for move in (move for _, move in self._log if move.group is not None):
            main, kickers = move.words
            for cards in (body_cards(main), kickers):
                index = deal_packets(row, np.uint64(cards), np.uint64(index), self._rule_words)
        deal_rest(row, np.uint64(index), self._rule_words)
        hands = tuple(Hand.from_word(int(word)) for word in row[at.HANDS : at.HANDS + self._rules.players])
        if any(len(hand) < self._rules.hand_size for hand in hands):
            raise InvalidDealError("the state lacks moves of its game, whose cards the next deal needs")
        return hands, Hand.from_word(int(row[at.BOTTOM]))

    def copy(self) -> State:
        """Return an independent copy of the game."""
        twin = State.__new__(State)
        twin._row, twin._ring = self._row.copy(), self._ring.copy()
        twin._rules, twin._rule_words = self._rules, self._rule_words
        twin._log = list(self._log)
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> State:
        return self.copy()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self._rules == other._rules and bool((self._row == other._row).all()) and self._log == other._log

    __hash__ = None  # type: ignore[assignment]  # a game changes

    def __getstate__(self) -> tuple[Any, ...]:
        return self._row, self._rules, self._ring, self._log

    def __setstate__(self, saved: tuple[Any, ...]) -> None:
        self._row, self._rules, self._ring, self._log = copy_readonly_arrays(saved)
        self._rule_words = self._rules.words()

    def __repr__(self) -> str:
        hands = " ".join(f"{seat}:{self.hand(seat)}" for seat in range(self._rules.players))
        return f"<State {self._rules.name}, {self.stage}, seat {self.seat} to act, {hands}>"

    def _seat(self, seat: int | None) -> int:
        """Check a seat number and return it; None stands for the seat to act."""
        if seat is None:
            return self.seat
        return check_integer("seat", seat, 0, self._rules.players - 1, InvalidDealError)

    def _check_running(self) -> None:
        if self.is_over:
            raise GameOverError("the game is over: start a new one")

    def _can_act(self, action: np.uint64) -> bool:
        mask = np.empty(MASK_WORDS, np.uint64)
        write_legal_mask(self._row, self._rule_words, mask)
        return bool(is_legal_action(mask, action))

    def _can_play(self, move: Move) -> bool:
        row, rules = self._row, self._rule_words
        main, kickers = move.words
        if not self._can_act(main):
            return False
        return not move.kickers or bool(are_kickers_legal(row, row[at.HANDS + self.seat], main, kickers, rules))

    def _apply(self, action: int) -> None:
        before = int(self._row[at.MOVES])
        apply_and_record(self._row, self._ring, np.uint64(action), self._rule_words)
        after = int(self._row[at.MOVES])
        if after == 0 and before > 0:
            self._log.clear()  # everybody declined and the cards were dealt again
        elif after != before:
            self._log.append(decode_slot(*self._ring[before % at.HISTORY_MOVES].tolist()))


def fill_hands(least: npt.NDArray[np.int64], rules: Rules, seed: int = 0) -> State:
    """Start a game from partly known hands, completing them with the lowest remaining cards.

    Args:
        least: What each seat is dealt at least, and the landlord cards; counts, shape ``[players + 1, 15]``, changed
            in place.
        rules: The rules, under which every seat gets the same number of cards.
        seed: As for :meth:`State.from_hands`.

    Raises:
        InvalidDealError: If these are more cards than the deck has, or than a hand is dealt.
    """
    pool, sizes = np.array(rules.deck) - least.sum(axis=0), [rules.hand_size] * rules.players + [rules.bottom]
    if (pool < 0).any() or (least.sum(axis=1) > sizes).any():
        raise InvalidDealError("these are more cards than the deck has, or than a hand is dealt")
    for held, size in zip(least, sizes, strict=True):
        for rank in range(NUM_RANKS):
            extra = min(pool[rank], size - held.sum())
            pool[rank] -= extra
            held[rank] += extra
    *hands, bottom = (Hand(tuple(counts)) for counts in least.tolist())
    return State.from_hands(hands, bottom, rules, seed=seed)


def restore_state(
    row: npt.NDArray[np.uint64], ring: npt.NDArray[np.uint64], log: npt.NDArray[np.uint64], rules: Rules
) -> State:
    """Make a state from copies of a game-state array, its buffer of recent moves and its log of all moves."""
    history = [decode_slot(cards, packed) for cards, packed in log[: int(row[at.MOVES])].tolist()]
    state = State.__new__(State)
    state.__setstate__((row.copy(), rules, ring.copy(), history))
    return state
