"""Text notation for hands and moves, in which ``str`` and ``parse`` are exact inverses.

Cards are written rank by rank, ``34567`` or ``TJQKA``; a move with kickers separates them by ``+``
(``333444+57``), because ``333444555666`` can be read as four trios or as three with kickers.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ddz_env.core.actions import (
    BID_BASE,
    CATEGORIES,
    DOUBLE_BASE,
    KICKER_BASE,
    MAIN_GROUPS,
    NUM_ACTIONS,
    PASS,
    MainGroup,
    action_name,
)
from ddz_env.core.cards import (
    BLACK_JOKER,
    CHAIN_RANKS,
    FULL_DECK,
    NUM_RANKS,
    RANK_NAMES,
    cards_to_counts,
    counts_to_word,
)
from ddz_env.core.rules import Rules
from ddz_env.support.checks import as_integer
from ddz_env.support.errors import AmbiguousMoveError, InvalidHandError, InvalidMoveError, Message, short_repr

_TOKEN = re.compile(r"(10|小王|大王|[3-9TJQKA2BR])")
_SEPARATORS = r"\s,，、♥♦♠♣♡♢♤♧\ufe0e\ufe0f"
"""What may stand between cards and says nothing."""
_SEPARATOR_RUN = re.compile(f"[{_SEPARATORS}]+")
_PEERS_JOKER = re.compile(f"(?<![^{_SEPARATORS}])[BR]J(?![^{_SEPARATORS}])", re.IGNORECASE)
_SYNONYMS = {"10": "T", "小王": "B", "大王": "R"}
_PASS_WORDS = {"pass", "过", "过牌", "不出", "不要", "要不起", "要不了"}
_ROCKET_WORDS = {"rocket", "王炸", "火箭"}
CALL_NAMES = {BID_BASE: "no call", BID_BASE + 1: "call", BID_BASE + 2: "rob"}
ROB_NAMES = {BID_BASE: "no rob", BID_BASE + 1: "call", BID_BASE + 2: "rob"}
SHOW_NAMES = {DOUBLE_BASE: "no show", DOUBLE_BASE + 1: "show"}
"""The words of the auction where the landlord is called, then robbed for, and of showing the hand."""
_CHINESE_WORDS = {"不叫": BID_BASE, "叫地主": BID_BASE + 1, "不抢": BID_BASE, "抢地主": BID_BASE + 2}
_CHINESE_WORDS |= {"不加倍": DOUBLE_BASE, "加倍": DOUBLE_BASE + 1, "不明牌": DOUBLE_BASE, "明牌": DOUBLE_BASE + 1}
_ACTION_WORDS = {action_name(a): a for a in range(BID_BASE, NUM_ACTIONS)} | _CHINESE_WORDS
_ACTION_WORDS |= {word: action for words in (CALL_NAMES, ROB_NAMES, SHOW_NAMES) for action, word in words.items()}
_BIDS = range(BID_BASE, DOUBLE_BASE)


def _as_integers(values: object) -> tuple[int, ...] | None:
    """Return a sequence of integers as a tuple, or None if the value is anything else."""
    if type(values) is tuple and set(map(type, values)) <= {int}:
        return values
    if not isinstance(values, (list, tuple)) and not (isinstance(values, np.ndarray) and values.ndim == 1):
        return None
    integers = tuple(map(as_integer, values))
    return None if None in integers else integers  # type: ignore[return-value]  # none is None


def _parse_counts(text: str) -> tuple[int, ...]:
    """Parse cards as people type them (``34567``, ``10 J Q``), and return 15 rank counts."""
    if not isinstance(text, str):
        raise InvalidHandError(f"a hand is text, as '34567' or '10 J Q K A', not {short_repr(text)}")
    if joker := _PEERS_JOKER.search(text):
        raise InvalidHandError(
            "{cards} is a joker in RLCard and two cards here: write {joker} for the joker, or {both} for two cards",
            cards=joker[0],
            joker=joker[0][0].upper(),
            both=joker[0][::-1].upper(),
        )
    counts = [0] * NUM_RANKS
    plain = _SEPARATOR_RUN.sub("", text.strip().upper())
    position = 0
    while position < len(plain):
        token = _TOKEN.match(plain, position)
        if token is None:
            raise InvalidHandError(
                "cannot read {letter} in {text}: cards are written 3 4 5 6 7 8 9 T (or 10) J Q K A 2 B (black joker) "
                "R (red joker)",
                letter=repr(plain[position]),
                text=short_repr(text),
            )
        counts[RANK_NAMES.index(_SYNONYMS.get(token[1], token[1]))] += 1
        position = token.end()
    return tuple(counts)


def _format_counts(counts: Iterable[int]) -> str:
    return "".join(RANK_NAMES[rank] * count for rank, count in enumerate(counts))


_COPIES = counts_to_word((4,))
"""The places of one rank's four cards in a hand word."""


def word_to_counts(word: int) -> tuple[int, ...]:
    """Unpack a 64-bit hand word into 15 rank counts."""
    word = int(word)
    return tuple((word >> rank & _COPIES).bit_count() for rank in range(NUM_RANKS))


def kicker_ranks(counts: Iterable[int], size: int) -> tuple[int, ...]:
    """Convert 15 counts of kicker cards to an ascending tuple of kicker ranks, with one entry per kicker."""
    return tuple(rank for rank, count in enumerate(counts) for _ in range(count // size))


@dataclass(frozen=True)
class Hand:
    """A hand of cards, stored as a count for each rank.

    Attributes:
        counts: How many cards of each rank, 15 integers in playing order.

    Example:
        >>> Hand.parse("10 J Q K A BR")
        Hand.parse('TJQKABR')
        >>> len(Hand.parse("♠3 ♥3 4"))
        3
    """

    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        counts = _as_integers(self.counts)
        if counts is None or len(counts) != NUM_RANKS:
            raise InvalidHandError(f"a hand is 15 counts, one per rank; got {short_repr(self.counts)}")
        object.__setattr__(self, "counts", counts)
        for rank, (count, most) in enumerate(zip(counts, FULL_DECK, strict=True)):
            if not 0 <= count <= most:
                raise InvalidHandError(
                    "{number} cards of rank {rank}: the pack has {most}", number=count, rank=RANK_NAMES[rank], most=most
                )

    @classmethod
    def parse(cls, text: str) -> Hand:
        """Parse a hand: ranks, with or without spaces, commas and suits; a ten is ``10`` or ``T``.

        Raises:
            InvalidHandError: If a character is not a card, there are more cards of a rank than the pack has, or ``BJ``
                or ``RJ`` stands alone, which RLCard writes for a joker.
        """
        return cls(_parse_counts(text))

    @classmethod
    def from_ids(cls, cards: Iterable[int]) -> Hand:
        """Build a hand from card ids 0..53 (Botzone's numbering).

        Raises:
            InvalidHandError: If an id does not exist or is repeated.
        """
        return cls(tuple(cards_to_counts(cards)))

    @classmethod
    def from_word(cls, word: int) -> Hand:
        """Unpack a hand from a 64-bit hand word (:mod:`ddz_env.core.engine.words`).

        Raises:
            InvalidHandError: If it is none.
        """
        if (number := as_integer(word)) is None:
            raise InvalidHandError(f"a hand word is an integer, not {short_repr(word)}")
        return cls(word_to_counts(number))

    @property
    def word(self) -> int:
        """The hand packed into a 64-bit hand word (:mod:`ddz_env.core.engine.words`)."""
        return counts_to_word(self.counts)

    def __len__(self) -> int:
        return sum(self.counts)

    def __add__(self, more: Hand) -> Hand:
        return Hand(tuple(map(operator.add, self.counts, more.counts)))

    def __sub__(self, less: Hand) -> Hand:
        return Hand(tuple(map(operator.sub, self.counts, less.counts)))

    def __str__(self) -> str:
        return _format_counts(self.counts)

    def __repr__(self) -> str:
        return f"Hand.parse({str(self)!r})"


@dataclass(frozen=True)
class Move:
    """A whole move: cards with any kickers, a pass, a bid, or an answer to showing or doubling.

    Attributes:
        main: Action id of the main group (0 is pass; bids and doubling keep their ids).
        kickers: Kicker ranks in non-decreasing order, one entry per kicker (a pair of kickers is one entry).

    Example:
        >>> Move.parse("333444+57")
        Move.parse('333444+57')
        >>> Move.parse("333444+57").category
        'plane+solos'
    """

    main: int
    kickers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if type(self.main) is not int or type(self.kickers) is not tuple or set(map(type, self.kickers)) - {int}:
            self._convert()
        if not (0 <= self.main < KICKER_BASE or BID_BASE <= self.main < NUM_ACTIONS):
            raise InvalidMoveError(
                f"main id {short_repr(self.main)} is not a move: main groups are 0..{KICKER_BASE - 1}, "
                f"bids and doubling {BID_BASE}..{NUM_ACTIONS - 1}"
            )
        group = self.group
        kicker_count = group.kicker_count if group else 0
        if len(self.kickers) != kicker_count:
            raise InvalidMoveError(f"{action_name(self.main)} takes {kicker_count} kickers, not {len(self.kickers)}")
        if group is None or not self.kickers:
            return
        if any(not 0 <= rank < NUM_RANKS for rank in self.kickers):
            raise InvalidMoveError(f"kicker ranks are 0..14, got {short_repr(self.kickers)}")
        if list(self.kickers) != sorted(self.kickers):
            raise InvalidMoveError(f"kickers {self.kickers} must be in non-decreasing order")
        for rank, times in Counter(self.kickers).items():
            if group.need[rank]:
                raise InvalidMoveError(f"kicker {RANK_NAMES[rank]} has the rank of a card in the body {group.name}")
            if times * group.kicker_size > FULL_DECK[rank]:
                raise InvalidMoveError(
                    f"{times * group.kicker_size} kickers of rank {RANK_NAMES[rank]}: a full deck has {FULL_DECK[rank]}"
                )

    def _convert(self) -> None:
        """Convert the fields in place: integer types to ``int``, and a list of kickers to a tuple."""
        main, kickers = as_integer(self.main), _as_integers(self.kickers)
        if main is None or kickers is None:
            raise InvalidMoveError(
                f"a move is a main id and kicker ranks, as Move(5) or Move(42, (7,)), not {short_repr(self.main)} and "
                f"{short_repr(self.kickers)}"
            )
        object.__setattr__(self, "main", main)
        object.__setattr__(self, "kickers", kickers)

    @property
    def group(self) -> MainGroup | None:
        """The move's main group (its part without kickers); None for bids and answers to showing or doubling."""
        return MAIN_GROUPS[self.main] if self.main < KICKER_BASE else None

    @property
    def is_pass(self) -> bool:
        """Whether the move is a pass."""
        return self.main == PASS

    @property
    def category(self) -> str:
        """The name of the move's category, or ``bid`` or ``double`` for a move before the card play."""
        if self.group is not None:
            return CATEGORIES[self.group.category].name
        return "bid" if self.main < DOUBLE_BASE else "double"

    @property
    def kicker_counts(self) -> tuple[int, ...]:
        """The number of cards of each rank among the kickers, as 15 counts."""
        size = self.group.kicker_size if self.group else 0
        times = Counter(self.kickers)
        return tuple(times[rank] * size for rank in range(NUM_RANKS))

    @property
    def cards(self) -> Hand:
        """All cards of the move, both the body and the kickers."""
        need = self.group.need if self.group else (0,) * NUM_RANKS
        return Hand(tuple(a + b for a, b in zip(need, self.kicker_counts, strict=True)))

    @property
    def actions(self) -> tuple[int, ...]:
        """The action ids that play the move one after another: the main group, then each kicker."""
        return (self.main, *(KICKER_BASE + rank for rank in self.kickers))

    @property
    def words(self) -> tuple[np.uint64, np.uint64]:
        """The main-group action id and the kickers as a 64-bit hand word; the inverse of :meth:`from_words`."""
        return np.uint64(self.main), np.uint64(counts_to_word(self.kicker_counts) if self.kickers else 0)

    @classmethod
    def from_words(cls, main: int, kickers: int) -> Move:
        """Build a move from a main-group action id and its kickers as a 64-bit hand word.

        Raises:
            InvalidMoveError: If they are not a move.
        """
        word = as_integer(kickers)
        if word is None or as_integer(main) is None:
            raise InvalidMoveError(
                f"a main id and a kicker word are integers, not {short_repr(main)} and {short_repr(kickers)}"
            )
        if not word:
            return cls(main)
        group = MAIN_GROUPS[main] if 0 <= main < KICKER_BASE else None
        if group is None or not group.kicker_count:
            raise InvalidMoveError(f"{short_repr(main)} is not a main group that takes kickers")
        counts = word_to_counts(word)
        if any(count % group.kicker_size for count in counts):
            raise InvalidMoveError(
                f"the kickers of {group.name} have {group.kicker_size} cards each; got {_format_counts(counts)}"
            )
        return cls(main, kicker_ranks(counts, group.kicker_size))

    @classmethod
    def from_ids(cls, cards: Iterable[int], rules: str | Rules = "standard") -> Move:
        """Build the move that card ids 0..53 (Botzone's numbering) form; an empty list is a pass.

        Raises:
            InvalidHandError: If an id does not exist or is repeated.
            InvalidMoveError: If the cards are not a move, or (AmbiguousMoveError) more than one.
        """
        hand = Hand.from_ids(cards)
        return cls.parse(str(hand), rules) if len(hand) else cls(PASS)

    @classmethod
    def parse(cls, text: str, rules: str | Rules = "standard") -> Move:
        """Parse a move in text notation, such as ``34567``, ``333+4``, ``pass`` or ``bid 2``.

        Accepts what people type: ``34567``, ``3 4 5 6 7``, ``10JQKA``, ``BR`` or ``rocket``, ``333+4``, ``♠3♥3``,
        ``pass``, ``bid 2``, ``no bid``, ``double``; when robbing ``call`` (bid 1) and ``rob`` (bid 2), and ``show``
        (double).

        Args:
            text: The move.  Kickers come after ``+``.
            rules: The rules under which bare cards are read and kickers are checked.

        Raises:
            InvalidMoveError: If the text is not a move under the rules.
            AmbiguousMoveError: If bare cards have several readings and the rules do not choose.
        """
        if not isinstance(text, str):
            raise InvalidMoveError(f"a move is text, as '333+4' or 'pass', not {short_repr(text)}")
        rules = Rules.preset(rules)
        word = " ".join(text.strip().lower().split())
        if word in _PASS_WORDS:
            return cls(PASS)
        if word in _ROCKET_WORDS:
            return cls._parse_bare("BR", rules)
        if word in _ACTION_WORDS:
            return cls(_ACTION_WORDS[word])
        if word.startswith("bid"):
            robbing = rules.bidding == "robbing"
            bids = [Message(bid) for bid in ROB_NAMES.values()] if robbing else [cls(bid) for bid in _BIDS]
            raise InvalidMoveError("there is no {word}: the bids are {moves}", word=repr(word), moves=bids)
        try:
            if "+" in text:
                return cls._parse_separated(text, rules)
            return cls._parse_bare(text, rules)
        except InvalidHandError as error:
            raise InvalidMoveError(error.message) from error

    @classmethod
    def _parse_separated(cls, text: str, rules: Rules) -> Move:
        parts = text.split("+")
        if len(parts) != 2:
            raise InvalidMoveError("{text} has more than one '+': write body+kickers, as 333444+57", text=repr(text))
        body, kickers = _parse_counts(parts[0]), _parse_counts(parts[1])
        readings = [
            move
            for group in MAIN_GROUPS
            if group.need == body and (move := _complete_move(group, kickers, rules)) is not None
        ]
        if not readings:
            raise InvalidMoveError(
                "{body} with kickers {kickers} is not a move under the {rules} rules",
                body=repr(_format_counts(body)),
                kickers=repr(_format_counts(kickers)),
                rules=Message(rules.name),
            )
        return readings[0]

    @classmethod
    def _parse_bare(cls, text: str, rules: Rules) -> Move:
        cards = Hand(_parse_counts(text))
        readings = list_readings(cards, rules)
        if not readings:
            raise InvalidMoveError(
                "{cards} is not a move under the {rules} rules; write solos 3, pairs 33, trios 333 or 333+4, bombs "
                "3333, chains 34567, planes 333444+57, or pass",
                cards=repr(str(cards)),
                rules=Message(rules.name),
            )
        if len(readings) > 1 and rules.ambiguous_cards == "ask":
            raise AmbiguousMoveError(
                "{cards} can be read as {readings}: separate the kickers by '+'",
                cards=repr(str(cards)),
                readings=" or ".join(map(str, readings)),
            )
        return readings[0]

    def __str__(self) -> str:
        if self.group is None or self.is_pass:
            return action_name(self.main)
        kickers = _format_counts(self.kicker_counts)
        return _format_counts(self.group.need) + (f"+{kickers}" if kickers else "")

    def __repr__(self) -> str:
        with contextlib.suppress(InvalidMoveError):
            if Move.parse(str(self)) == self:
                return f"Move.parse({str(self)!r})"
        return f"Move({self.main}, {self.kickers})"


@functools.cache
def _groups_of_size(cards: int) -> tuple[MainGroup, ...]:
    """Return the main groups whose whole moves, including kickers, have the given number of cards."""
    return tuple(group for group in MAIN_GROUPS[1:] if group.cards == cards)


def list_readings(cards: Hand, rules: Rules) -> list[Move]:
    """List every move that a set of cards can form, by number of kickers and then by lowest rank.

    Raises:
        InvalidHandError: If ``cards`` is not a :class:`Hand`.
    """
    if not isinstance(cards, Hand):
        raise InvalidHandError(f"list_readings takes a Hand, not {short_repr(cards)}")
    readings = []
    for group in _groups_of_size(len(cards)):
        kickers = tuple(a - b for a, b in zip(cards.counts, group.need, strict=True))
        if min(kickers) >= 0:
            move = _complete_move(group, kickers, rules)
            if move is not None:
                readings.append(move)
    return sorted(readings, key=lambda move: (len(move.kickers), move.group.rank if move.group else 0))


def _complete_move(group: MainGroup, kickers: Sequence[int], rules: Rules) -> Move | None:
    """Return the move with the given body and kickers, or None if the rules have no such move."""
    if CATEGORIES[group.category].name not in rules.categories:
        return None
    size = group.kicker_size
    if size == 0:
        return Move(group.id) if not any(kickers) else None
    if any(count % size for count in kickers) or sum(kickers) != size * group.kicker_count:
        return None
    if any(a and b for a, b in zip(kickers, group.need, strict=True)):
        return None
    repeat = rules.kicker_repeat if size == 1 else 1
    if any(count // size > repeat for count in kickers):
        return None
    if not rules.two_jokers and kickers[BLACK_JOKER] and kickers[BLACK_JOKER + 1]:
        return None
    if rules.kicker_trios == "not-adjacent":
        above = group.rank + group.length
        neighbours = [group.rank - 1] * (group.rank > 0) + [above] * (above < CHAIN_RANKS)
        if any(kickers[rank] >= 3 for rank in neighbours):
            return None
    return Move(group.id, kicker_ranks(kickers, size))


@functools.lru_cache(maxsize=1 << 16)
def decode_move(main: int, cards: int) -> Move:
    """Rebuild a move from its recorded main-group action id and all its cards as a hand word.

    Args:
        main: Its main id (a bid or an answer to doubling keeps its action id).
        cards: All its cards as a hand word.
    """
    if main >= KICKER_BASE or not MAIN_GROUPS[main].kicker_count:
        return Move(main)
    group = MAIN_GROUPS[main]
    kickers = [held - need for held, need in zip(word_to_counts(cards), group.need, strict=True)]
    return Move(main, kicker_ranks(kickers, group.kicker_size))


def decode_slot(cards: int, packed: int) -> tuple[int, Move]:
    """Unpack a pair of history words (:mod:`ddz_env.core.engine.layout`) into the seat and its move."""
    return packed >> 16, decode_move(packed & 0xFFFF, cards)


@functools.lru_cache(maxsize=1 << 16)
def format_recorded_move(main: int, cards: int) -> str:
    """Return the text notation of a move recorded as a main-group action id and a hand word of its cards."""
    return str(decode_move(main, cards))
