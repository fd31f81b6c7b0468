"""The rules once more, slow and obvious: the oracle that the engine and the peers are compared with.

Nothing here knows about bits, planes or masks.  A hand is a tuple of 15 counts, one per rank; a move is a main group
of the action table and the ranks of its kickers in non-decreasing order (a pair of kickers is one entry); the moves
of a hand are found by trying every main group with every multiset of kickers and keeping what the written rules of
:class:`ddz_env.core.rules.Rules` allow.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ddz_env.core.actions import BID_BASE, CATEGORIES, DOUBLE_BASE, KICKER_BASE, MAIN_GROUPS, MainGroup
from ddz_env.core.cards import BLACK_JOKER, CHAIN_RANKS, NUM_RANKS, RED_JOKER
from ddz_env.core.rules import Rules

Hand = tuple[int, ...]
"""How many cards of each rank."""
Move = tuple[int, tuple[int, ...]]
"""Action id of the main group (or of a bid, or of an answer to doubling), and the kickers."""

PASS_MOVE: Move = (0, ())
NO_CARDS: Hand = (0,) * NUM_RANKS


def category_of(move: Move) -> str:
    return CATEGORIES[MAIN_GROUPS[move[0]].category].name


def cards_of(move: Move) -> Hand:
    group = MAIN_GROUPS[move[0]]
    kickers = Counter(move[1])
    return tuple(group.need[rank] + kickers[rank] * group.kicker_size for rank in range(NUM_RANKS))


def action_path(move: Move) -> tuple[int, ...]:
    return (move[0], *(KICKER_BASE + rank for rank in move[1]))


def holds(hand: Hand, cards: Hand) -> bool:
    return all(a >= b for a, b in zip(hand, cards, strict=True))


def without(hand: Hand, cards: Hand) -> Hand:
    return tuple(a - b for a, b in zip(hand, cards, strict=True))


def together(*hands: Hand) -> Hand:
    return tuple(map(sum, zip(*hands, strict=True)))


def body_ranks(group: MainGroup) -> list[int]:
    return [rank for rank in range(NUM_RANKS) if group.need[rank]]


def kickers_obey(group: MainGroup, kickers: tuple[int, ...], rules: Rules) -> bool:
    """Whether the rules allow these kickers beside this body (the cards themselves set apart)."""
    times = Counter(kickers)
    repeat = rules.kicker_repeat if group.kicker_size == 1 else 1
    if any(count > repeat for count in times.values()):
        return False
    if not rules.two_jokers and times[BLACK_JOKER] and times[RED_JOKER]:
        return False
    if rules.kicker_trios == "not-adjacent":
        body = body_ranks(group)
        neighbours = {body[0] - 1, body[-1] + 1} & set(range(CHAIN_RANKS))
        return all(times[rank] < 3 for rank in neighbours)
    return True


def kicker_sets(hand: Hand, group: MainGroup, rules: Rules) -> list[tuple[int, ...]]:
    """Every multiset of kickers that the hand can add to a body and the rules allow."""
    spare = [rank for rank in range(NUM_RANKS) if hand[rank] >= group.kicker_size and not group.need[rank]]
    found = []
    for kickers in itertools.combinations_with_replacement(spare, group.kicker_count):
        held = all(count * group.kicker_size <= hand[rank] for rank, count in Counter(kickers).items())
        if held and kickers_obey(group, kickers, rules):
            found.append(kickers)
    return found


def body_obeys(hand: Hand, group: MainGroup, rules: Rules) -> bool:
    """Whether the hand can play a body, kickers set apart."""
    if CATEGORIES[group.category].name not in rules.categories or not holds(hand, group.need):
        return False
    bare_chain = group.length > 1 and group.kicker_count == 0 and CATEGORIES[group.category].copies < 4
    return rules.chain_from_quad or not (bare_chain and hand[group.rank] == 4)


@functools.lru_cache(maxsize=4096)
def readings(hand: Hand, rules: Rules) -> tuple[Move, ...]:
    """Every way to play cards of a hand, passes left out.  The same cards may be read in several ways."""
    moves: list[Move] = []
    for group in MAIN_GROUPS[1:]:
        if not body_obeys(hand, group, rules):
            continue
        if group.kicker_count:
            moves += [(group.id, kickers) for kickers in kicker_sets(hand, group, rules)]
        else:
            moves.append((group.id, ()))
    return tuple(moves)


def one_reading_each(moves: Iterable[Move]) -> list[Move]:
    """Keep one move for each set of cards: the one without kickers, else the one with the lowest body."""
    best: dict[Hand, Move] = {}
    for move in sorted(moves, key=lambda move: (len(move[1]), MAIN_GROUPS[move[0]].rank)):
        best.setdefault(cards_of(move), move)
    return list(best.values())


@dataclass(frozen=True)
class Target:
    """What wins over a move: the same category (``"bombs only"``: nothing else wins), the same length, a higher key."""

    category: str
    length: int
    key: int


def strength(move: Move, rules: Rules) -> Target:
    """How strong a move is as it was meant: DouZero compares planes with solos by their highest trio of any kind."""
    group = MAIN_GROUPS[move[0]]
    category = category_of(move)
    if rules.kicker_trios == "merge" and category == "plane+solos":
        trios = [rank for rank, count in enumerate(cards_of(move)) if count == 3]
        return Target(category, group.length, trios[-1])
    return Target(category, group.length, group.rank)


def consecutive(ranks: list[int]) -> bool:
    return ranks[-1] < CHAIN_RANKS and ranks == list(range(ranks[0], ranks[-1] + 1))


def detected(cards: Hand) -> Target:
    """How DouZero's detector reads the cards of a plane with solos, which the player may have meant otherwise."""
    trios = [rank for rank, count in enumerate(cards) if count == 3]
    others = sum(count for count in cards if count < 3)
    if any(count == 4 for count in cards):
        return Target("bombs only", 0, 0)
    if consecutive(trios) and others == 0:
        return Target("plane", len(trios), trios[0])
    if consecutive(trios) and others == len(trios):
        return Target("plane+solos", len(trios), trios[-1])
    if len(trios) == 4 and (consecutive(trios[1:]) or consecutive(trios[:-1])):
        return Target("plane+solos", 3, trios[-1])
    return Target("bombs only", 0, 0)


def target_of(move: Move, rules: Rules) -> Target:
    """What the next seats must beat once a move lies on the table."""
    if rules.kicker_trios == "merge" and category_of(move) == "plane+solos":
        return detected(cards_of(move))
    return strength(move, rules)


def beats(reply: Move, target: Target, rules: Rules) -> bool:
    mine = strength(reply, rules)
    if target.category == "rocket":
        return rules.bombs_beat_rocket and mine.category == "bomb"  # OpenSpiel
    if mine.category == "rocket":
        return True
    if rules.bombs and mine.category == "bomb" and target.category != "bomb":
        return True
    return (mine.category, mine.length) == (target.category, target.length) and mine.key > target.key


def moves_to_play(hand: Hand, target: Target | None, rules: Rules) -> list[Move]:
    """The legal moves of the play, sorted: anything on lead, else a pass or what beats the target."""
    moves = list(readings(hand, rules))
    if target is not None:
        moves = [move for move in moves if beats(move, target, rules)]
    if rules.kicker_trios == "merge":
        moves = one_reading_each(moves)
    return sorted(moves if target is None else [PASS_MOVE, *moves])


class Game:
    """One game from given hands, one per seat: the auction, doubling, the tricks and the returns.

    With an auction ``landlord`` is None, and ``bottom`` are the landlord cards; else they are in the landlord's hand.
    ``first`` is the seat that acts first.
    """

    def __init__(
        self, hands: Iterable[Hand], rules: Rules, bottom: Hand = NO_CARDS, landlord: int | None = 0, first: int = 0
    ) -> None:
        self.rules = rules
        self.hands = list(hands)
        self.bottom = bottom
        self.landlord = landlord
        self.seat = first
        self.spoken: list[tuple[int, int]] = []
        self.robs = 0
        self.caller: int | None = None
        self.shown: bool | None = None
        self.doubles: dict[int, bool] = {}
        self.target: Target | None = None
        self.owner = first
        self.passes = 0
        self.played: list[tuple[int, Move]] = []
        self.winner: int | None = None
        self.stage = "bid" if landlord is None else self._stage_with_landlord()

    def legal_moves(self) -> list[Move]:
        if self.stage == "bid" and self.rules.bidding == "robbing":
            return [(BID_BASE, ()), (BID_BASE + (1 if self.caller is None else 2), ())]
        if self.stage == "bid":
            return [(BID_BASE + bid, ()) for bid in range(4) if bid == 0 or bid > self.highest_bid()]
        if self.stage in ("double", "show"):
            return [(DOUBLE_BASE, ()), (DOUBLE_BASE + 1, ())]
        if self.stage == "play":
            return moves_to_play(self.hands[self.seat], self.target, self.rules)
        return []

    def play(self, move: Move) -> None:
        if self.stage == "bid":
            self._call_or_rob(move[0] != BID_BASE) if self.rules.bidding == "robbing" else self._bid(move[0] - BID_BASE)
        elif self.stage == "show":
            self.shown = move[0] == DOUBLE_BASE + 1
            self.stage = "double" if self.rules.doubling else "play"
        elif self.stage == "double":
            self._answer(move[0] == DOUBLE_BASE + 1)
        elif move == PASS_MOVE:
            self._pass()
        else:
            self._put_down(move)

    def _next_seat(self) -> int:
        return (self.seat + 1) % self.rules.players

    def highest_bid(self) -> int:
        return max((bid for _, bid in self.spoken), default=0)

    def _bid(self, bid: int) -> None:
        self.spoken.append((self.seat, bid))
        bids = [b for _, b in self.spoken]
        if self.rules.bidding == "once":
            ended = bid == 3 or len(bids) == 3
        else:
            ended = bid == 3 or bids[-3:] == [0, 0, 0] or (bids[-2:] == [0, 0] and any(bids))
        self.seat = self._next_seat()
        if ended:
            self._end_auction(next((seat for seat, b in self.spoken if b == max(bids) > 0), None))

    def _call_or_rob(self, wants: bool) -> None:
        """One seat calls; those that have not declined may rob it once each; then it may rob its place back, once."""
        seat, back = self.seat, self.seat == self.caller
        if wants:
            self.robs += self.caller is not None
            self.caller, self.owner = seat if self.caller is None else self.caller, seat
        self.spoken.append((seat, int(wants)))
        silent = [s for s in ((seat + 1) % 3, (seat + 2) % 3) if s not in {spoke for spoke, _ in self.spoken}]
        if silent:
            self.seat = silent[0]
        elif self.caller is not None and self.robs and not back:
            self.seat = self.caller
        else:
            self._end_auction(None if self.caller is None else self.owner)

    def _end_auction(self, winner: int | None) -> None:
        if winner is not None:
            self._make_landlord(winner)
        elif self.rules.all_decline == "first-seat":
            self._make_landlord(self.spoken[0][0])
        else:
            self.stage = "redeal" if self.rules.all_decline == "redeal" else "over"

    def _make_landlord(self, seat: int) -> None:
        self.landlord = self.seat = self.owner = seat
        self.hands[seat] = together(self.hands[seat], self.bottom)
        self.stage = self._stage_with_landlord()

    def _stage_with_landlord(self) -> str:
        return "show" if self.rules.showing else "double" if self.rules.doubling else "play"

    def _answer(self, doubled: bool) -> None:
        self.doubles[self.seat] = doubled
        self.seat = self._next_seat()
        if len(self.doubles) == self.rules.players:
            self.stage = "play"

    def _pass(self) -> None:
        self.passes += 1
        self.seat = self._next_seat()
        if self.passes == self.rules.players - 1:
            self.seat, self.target, self.passes = self.owner, None, 0

    def _put_down(self, move: Move) -> None:
        self.hands[self.seat] = without(self.hands[self.seat], cards_of(move))
        self.played.append((self.seat, move))
        self.target, self.owner, self.passes = target_of(move, self.rules), self.seat, 0
        if sum(self.hands[self.seat]) == 0:
            self.winner, self.stage = self.seat, "over"
        else:
            self.seat = self._next_seat()

    def is_spring(self) -> bool:
        """Whether the peasants never played, or the landlord played only the first move and lost."""
        if not self.rules.spring:
            return False
        by_landlord = sum(seat == self.landlord for seat, _ in self.played)
        by_peasants = len(self.played) - by_landlord
        return by_peasants == 0 if self.winner == self.landlord else by_landlord == 1

    def explosions(self) -> int:
        counted = ("bomb", "rocket") if self.rules.bombs else ("rocket",)
        return sum(category_of(move) in counted for _, move in self.played)

    def returns(self, scoring: str) -> list[float]:
        seats = range(self.rules.players)
        if self.winner is None:
            return [0.0 for _ in seats]
        landlord_won = self.winner == self.landlord
        won = [landlord_won == (seat == self.landlord) for seat in seats]
        if scoring == "botzone":
            return [2.0 * won[seat] + self._weights(seat) for seat in seats]
        if scoring == "win":
            share = 1.0 if self.rules.players == 2 else self.rules.peasant_reward
            return [(1.0 if seat == self.landlord else share) * (1 if won[seat] else -1) for seat in seats]
        paid = {seat: self._paid_by(seat) for seat in seats if seat != self.landlord}
        sign = 1 if landlord_won else -1
        return [float(sign * (sum(paid.values()) if seat == self.landlord else -paid[seat])) for seat in seats]

    def _paid_by(self, peasant: int) -> int:
        """What passes between the landlord and one peasant under ``stake``."""
        doublings = self.explosions() + self.is_spring()
        doublings += self.doubles.get(peasant, False) + self.doubles.get(self.landlord or 0, False)
        return int(max(1, self.highest_bid()) * 2 ** (doublings + self.robs + bool(self.shown)))

    def _weights(self, seat: int) -> float:
        """The sum of Botzone's weights of what a seat played (thesis, table 2.1)."""
        total = 0
        for player, move in self.played:
            group = MAIN_GROUPS[move[0]]
            category = CATEGORIES[group.category]
            long = category.long_weight is not None and group.length >= 3
            total += (category.long_weight or 0 if long else category.weight) if player == seat else 0
        return total / 100
