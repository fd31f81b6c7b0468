"""OpenSpiel observers, which give a player's knowledge as a tensor or as a string.

The *information state* has perfect recall: the hand as dealt and everything that happened in sight since.  The
*observation* is the vector of the environments (:data:`ddz_env.core.observation.OBSERVATION`): what is on the table now
and the last 15 moves.
"""

from __future__ import annotations

import functools
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import BID_BASE, MAIN_GROUPS, NUM_ACTIONS, action_name
from ddz_env.core.cards import NUM_RANKS, RANK_NAMES
from ddz_env.core.engine import layout as at
from ddz_env.core.engine.score import is_hand_shown
from ddz_env.core.engine.words import add_hand
from ddz_env.core.notation import Hand, Move, word_to_counts
from ddz_env.core.observation import OBSERVATION, observe
from ddz_env.core.rules import Rules
from ddz_env.core.state import State

_COPIES = 4.0
"""The divisor of the numbers of cards of a rank."""
_HIGHEST = np.maximum(OBSERVATION.high, 1).astype(np.float32)


_MAX_BIDS_OF_AUCTION = {"fixed": 0, "once": 3, "until-passed": 7, "robbing": 4}
"""Bids in the longest auction: two passes, bid 1, a pass, bid 2, a pass and bid 3; or a call and three robs."""


def max_cards_played(rules: Rules) -> int:
    """Return the maximum number of cards played in a game: every seat but the winner keeps at least one card."""
    return rules.players * rules.hand_size + rules.bottom - (rules.players - 1)


def max_answers(rules: Rules) -> int:
    """Return the maximum number of bids and of answers to showing and doubling in a game."""
    return _MAX_BIDS_OF_AUCTION[rules.bidding] + rules.showing + (rules.players if rules.doubling else 0)


def max_moves(rules: Rules) -> int:
    """Return the maximum number of moves in a game: answers before play, single cards, and passes between them.

    As many actions are enough: a kicker is an action of its own, and also a card.
    """
    cards = max_cards_played(rules)
    return max_answers(rules) + cards + (cards - 1) * (rules.players - 1)


_text = functools.lru_cache(maxsize=2**16)(str)
"""The notation of a hand or a move: strings of information states hold the same ones again and again."""


class HasGame(Protocol):
    """An OpenSpiel state that holds a game of this package, as the observers require."""

    game: State | None
    """The game; None before everything is dealt."""


def first_seat_to_act(state: State) -> int:
    """Return the seat that acts first: the auction's opener, or the landlord."""
    return (int(state.row[at.BIDS]) >> 16) & 15


def all_cards_held(state: State, seat: int) -> Hand:
    """Return every card that a seat has held so far, including the landlord cards once the seat has them."""
    return Hand.from_word(int(add_hand(state.row[at.HANDS + seat], state.row[at.PLAYED + seat])))


def _has_landlord(state: State) -> bool:
    return int(state.row[at.LANDLORD]) != at.NO_SEAT


def half_built_move(state: State, seat: int) -> tuple[int, int]:
    """Return a seat's half-built move as a main-group id and a hand word of kickers, or zeros if there is none."""
    if int(state.row[at.STAGE]) != at.STAGE_KICKER or state.seat != seat:
        return 0, 0
    return int(state.row[at.PENDING]), int(state.row[at.CHOSEN])


class _Tensor:
    """A flat float32 tensor with named parts, in the form that OpenSpiel observers provide.

    Args:
        **shapes: The shape of each part.

    Attributes:
        tensor: Shape ``[size]``, float32.
        dict: Part name → its view of ``tensor``.
    """

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        shaped = (part.reshape(shape) for part, shape in zip(parts, shapes.values(), strict=True))
        self.dict: dict[str, npt.NDArray[np.float32]] = dict(zip(shapes, shaped, strict=True))


class InformationStateObserver(_Tensor):
    """An observer of the information state, which holds everything a player has seen and done since the deal.

    Parts of the tensor, with numbers of cards divided by four:

    ==================  ===================  =========================================================================
    ``player``          ``[players]``        one-hot
    ``hands``           ``[players, 15]``    every card that a seat has held, where the player sees that hand
    ``landlord_cards``  ``[15]``             once they are face up
    ``opener``          ``[players]``        the seat that moves first, one-hot
    ``moves``           ``[most, columns]``  each completed move: its seat (one-hot), its body and its kickers (15
                                             columns each), and, where there is an auction or doubling, which bid or
                                             answer it was (one-hot, 6)
    ``half_built``      ``[2, 15]``          body and kickers so far of the player's own half-built move
    ==================  ===================  =========================================================================

    Args:
        rules: The rules.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        answers = NUM_ACTIONS - BID_BASE if max_answers(rules) else 0
        super().__init__(
            player=(rules.players,),
            hands=(rules.players, NUM_RANKS),
            landlord_cards=(NUM_RANKS,),
            opener=(rules.players,),
            moves=(max_moves(rules), rules.players + 2 * NUM_RANKS + answers),
            half_built=(2, NUM_RANKS),
        )

    def set_from(self, spiel_state: HasGame, player: int) -> None:
        """Write a player's information state into the tensor."""
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        state = spiel_state.game
        if state is None:
            return
        for seat in self._visible_seats(state, player):
            self.dict["hands"][seat] = np.divide(all_cards_held(state, seat).counts, _COPIES)
        if _has_landlord(state):
            self.dict["landlord_cards"][:] = np.divide(state.bottom.counts, _COPIES)
        self.dict["opener"][first_seat_to_act(state)] = 1
        for number, (seat, move) in enumerate(state.history):
            self._write_move(self.dict["moves"][number], seat, move)
        main, chosen = half_built_move(state, player)
        if main:
            self.dict["half_built"][:] = np.divide((MAIN_GROUPS[main].need, word_to_counts(chosen)), _COPIES)

    def _write_move(self, out: npt.NDArray[np.float32], seat: int, move: Move) -> None:
        out[seat] = 1
        cards = out[self._rules.players :]
        if move.group is None:
            cards[2 * NUM_RANKS + move.main - BID_BASE] = 1
        else:
            cards[: 2 * NUM_RANKS] = np.divide(move.group.need + move.kicker_counts, _COPIES)

    def string_from(self, spiel_state: HasGame, player: int) -> str:
        """Return a player's information state as a string."""
        state = spiel_state.game
        if state is None:
            return f"player {player}"
        hands = " ".join(_text(all_cards_held(state, seat)) for seat in self._visible_seats(state, player))
        shown = [f"player {player}", hands, _text(state.bottom) if _has_landlord(state) else ""]
        moves = [f"seat {first_seat_to_act(state)}", *(f"{seat}:{_text(move)}" for seat, move in state.history)]
        main, chosen = half_built_move(state, player)
        if main:
            moves.append(f"{player}:{action_name(main)}{Hand.from_word(chosen)}...")
        return " | ".join((*shown, ", ".join(moves)))

    def _visible_seats(self, state: State, player: int) -> list[int]:
        """Return the seats whose hands a player sees, including a landlord that has shown its hand."""
        shown = int(state.row[at.LANDLORD]) if is_hand_shown(state.row) else None
        return [seat for seat in range(self._rules.players) if self._rules.open_hands or seat in (player, shown)]


class ObservationObserver(_Tensor):
    """An observer of the environments' observation vector, with each byte divided by its highest value."""

    def __init__(self) -> None:
        super().__init__(**{feature.name: (feature.size,) for feature in OBSERVATION.features})

    def set_from(self, spiel_state: HasGame, player: int) -> None:
        """Write a player's observation into the tensor."""
        state = spiel_state.game
        self.tensor[:] = 0 if state is None else observe(state, player) / _HIGHEST

    def string_from(self, spiel_state: HasGame, player: int) -> str:
        """Return every non-zero feature of a player's observation as a string."""
        state = spiel_state.game
        if state is None:
            return f"player {player}"
        features = OBSERVATION.split(observe(state, player))
        return " ".join(
            f"{name}={_format_feature(values.tolist())}" for name, values in features.items() if values.any()
        )


def _format_feature(values: list[int]) -> str:
    if len(values) == NUM_RANKS:
        return "".join(RANK_NAMES[rank] * count for rank, count in enumerate(values))
    return "".join(map(str, values))
