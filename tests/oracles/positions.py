"""Positions to test the rules on: random deals, *bunched* deals and *stacked* deals.

Planes, quads and both jokers are common in a bunched deal.  In a stacked deal two seats hold runs of three and more
trios, so that one leads a plane with a trio among its kickers and the other may beat it with another: the presets
differ most there, and random play hardly ever comes by.

A position is data (hands, who leads, the moves so far), so the engine, the reference and every peer can set it up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ddz_env.core.actions import CATEGORIES, KICKER_BASE, MAIN_GROUPS
from ddz_env.core.cards import NUM_RANKS, counts_to_word
from ddz_env.core.engine import layout
from ddz_env.core.engine.deal import start_game
from ddz_env.core.engine.legal import write_legal_mask
from ddz_env.core.engine.step import apply_action
from ddz_env.core.notation import word_to_counts
from ddz_env.core.rules import Rules
from tests.oracles.reference import Game, Hand, Move

Row = npt.NDArray[np.uint64]
Deal = tuple[Hand, ...]
"""One hand per seat, the landlord cards among the landlord's (seat 0)."""


@dataclass(frozen=True)
class Position:
    """A game in the middle of play: the hands at the start, seat 0's being the landlord's, and the moves so far."""

    rules: Rules
    deal: Deal
    leader: int
    moves: tuple[Move, ...] = ()

    def row(self) -> Row:
        row = row_of(self.deal, self.rules, self.leader)
        for move in self.moves:
            play_row(row, move, self.rules.words())
        return row

    def game(self) -> Game:
        game = Game(self.deal, self.rules.replace(bidding="fixed", doubling=False, showing=False), first=self.leader)
        for move in self.moves:
            game.play(move)
        return game


def row_of(deal: Deal, rules: Rules, leader: int = 0) -> Row:
    """A row in which seat 0 is the landlord, the hands are as given and a seat leads."""
    row = np.zeros(layout.ROW_WORDS, np.uint64)
    for seat, hand in enumerate(deal):
        row[layout.HANDS + seat] = counts_to_word(hand)
    start_game(row, rules.replace(bidding="fixed", doubling=False, showing=False).words())
    row[layout.SEAT] = row[layout.OWNER] = leader
    return row


def legal_ids(row: Row, words: Row) -> list[int]:
    mask = np.zeros(7, np.uint64)
    write_legal_mask(row, words, mask)
    return [64 * word + bit for word in range(7) for bit in range(64) if (int(mask[word]) >> bit) & 1]


def play_row(row: Row, move: Move, words: Row) -> None:
    apply_action(row, np.uint64(move[0]), words)
    for rank in move[1]:
        apply_action(row, np.uint64(KICKER_BASE + rank), words)


def engine_moves(row: Row, words: Row) -> list[Move]:
    """The engine's whole moves: every path through the stages, in the order of their ids."""
    moves: list[Move] = []
    for main in legal_ids(row, words):
        after = row.copy()
        apply_action(after, np.uint64(main), words)
        if after[layout.STAGE] == layout.STAGE_KICKER:
            moves += [(main, kickers) for kickers in _kicker_paths(after, words, MAIN_GROUPS[main].kicker_count)]
        else:
            moves.append((main, ()))
    return moves


def _kicker_paths(row: Row, words: Row, left: int) -> Iterator[tuple[int, ...]]:
    offered = [action - KICKER_BASE for action in legal_ids(row, words)]
    assert offered, f"dead end: {left} kickers to choose and none offered"
    assert left > 0, "the stage did not end after the last kicker"
    assert offered[0] >= int(row[layout.FLOOR]), "kickers must not decrease"
    for rank in offered:
        after = row.copy()
        apply_action(after, np.uint64(KICKER_BASE + rank), words)
        if left == 1:
            assert after[layout.STAGE] != layout.STAGE_KICKER, "the stage did not end after the last kicker"
            yield (rank,)
        else:
            yield from ((rank, *rest) for rest in _kicker_paths(after, words, left - 1))


def hands_of(row: Row, rules: Rules) -> Deal:
    return tuple(word_to_counts(int(row[layout.HANDS + seat])) for seat in range(rules.players))


def _sizes(rules: Rules) -> list[int]:
    """Cards of each seat, then the cards that no seat holds."""
    sizes = [rules.hand_size + rules.bottom] + [rules.hand_size] * (rules.players - 1)
    return [*sizes, sum(rules.deck) - sum(sizes)]


def _thinned(hand: list[int], rng: np.random.Generator) -> list[int]:
    """The hand of the half-deck game: each card is left out with probability 0.5, but one stays."""
    kept = [int(rng.binomial(count, 0.5)) for count in hand]
    return kept if sum(kept) else hand


def _as_deal(piles: list[list[int]], rules: Rules, rng: np.random.Generator) -> Deal:
    hands = [_thinned(pile, rng) if rules.half_deck else pile for pile in piles[: rules.players]]
    return tuple(map(tuple, hands))


def random_deal(rules: Rules, rng: np.random.Generator) -> Deal:
    cards = rng.permutation(np.repeat(np.arange(NUM_RANKS), rules.deck))
    cuts = np.cumsum(_sizes(rules))[:-1]
    piles = [np.bincount(part, minlength=NUM_RANKS).tolist() for part in np.split(cards, cuts)]
    return _as_deal(piles, rules, rng)


def bunched_deal(rules: Rules, rng: np.random.Generator) -> Deal:
    """Deal neighbouring ranks to the same seat by threes and fours, both jokers to one seat, then even the sizes."""
    piles, dealt_to = _no_cards(rules)
    favourite = int(rng.choice(dealt_to))
    for rank, copies in enumerate(rules.deck):
        if rng.random() < 0.3 and rank != NUM_RANKS - 1:
            favourite = int(rng.choice(dealt_to))
        bunch = min(copies, int(rng.choice([4, 3, 2, 1], p=[0.35, 0.4, 0.15, 0.1])))
        piles[favourite][rank] += bunch
        for _ in range(copies - bunch):
            piles[int(rng.choice(dealt_to))][rank] += 1
    return _evened_out(piles, rules, rng)


def stacked_deal(rules: Rules, rng: np.random.Generator, seats: tuple[int, int]) -> Deal:
    """Deal runs of trios to two seats in turn, the other cards at random."""
    piles, dealt_to = _no_cards(rules)
    owner, left = 0, int(rng.integers(3, 6))
    for rank, copies in enumerate(rules.deck):
        if left == 0:
            owner, left = 1 - owner, int(rng.integers(1, 6))
        left -= 1
        bunch = min(copies, 4 if rng.random() < 0.2 else 3)
        piles[seats[owner]][rank] += bunch
        for _ in range(copies - bunch):
            piles[int(rng.choice(dealt_to))][rank] += 1
    return _evened_out(piles, rules, rng)


def _no_cards(rules: Rules) -> tuple[list[list[int]], list[int]]:
    """An empty pile for each seat and for the cards that no seat holds, and the numbers of those that get cards."""
    sizes = _sizes(rules)
    return [[0] * NUM_RANKS for _ in sizes], [pile for pile, size in enumerate(sizes) if size]


def _evened_out(piles: list[list[int]], rules: Rules, rng: np.random.Generator) -> Deal:
    """Move cards from piles that are too large to piles that are too small, the smallest bunches first."""
    sizes = _sizes(rules)
    while (giver := next((p for p, size in enumerate(sizes) if sum(piles[p]) > size), None)) is not None:
        taker = next(p for p, size in enumerate(sizes) if sum(piles[p]) < size)
        fewest = min(count for count in piles[giver] if count)
        rank = int(rng.choice([r for r in range(NUM_RANKS) if piles[giver][r] == fewest]))
        piles[giver][rank] -= 1
        piles[taker][rank] += 1
    return _as_deal(piles, rules, rng)


def _random_move(row: Row, words: Row, rng: np.random.Generator) -> Move:
    """A move drawn stage by stage; a pass only where nothing else is legal or with probability 0.3."""
    actions = legal_ids(row, words)
    if actions[0] == 0 and len(actions) > 1 and rng.random() < 0.7:
        actions = actions[1:]
    return _complete(row, words, int(rng.choice(actions)), rng)


def _large_move(row: Row, words: Row, rng: np.random.Generator) -> Move:
    """A move with many cards: the largest of four mains, kickers drawn with repetition where they may repeat."""
    actions = legal_ids(row, words)
    drawn = rng.choice(actions, size=4)
    return _complete(row, words, int(max(drawn, key=lambda main: MAIN_GROUPS[main].cards)), rng)


def _plane_with_solos(row: Row, words: Row, rng: np.random.Generator) -> Move:
    """A plane with solos where there is one, rather a long one; else a large move."""
    groups = [MAIN_GROUPS[action] for action in legal_ids(row, words) if action < KICKER_BASE]
    planes = [group for group in groups if CATEGORIES[group.category].name == "plane+solos"]
    if not planes:
        return _large_move(row, words, rng)
    weights = np.array([float(group.length) ** 4 for group in planes])
    return _complete(row, words, int(rng.choice([group.id for group in planes], p=weights / weights.sum())), rng)


def _complete(row: Row, words: Row, main: int, rng: np.random.Generator) -> Move:
    """Draw the kickers of a main group, often the same rank again: kicker trios are where the presets differ."""
    after = row.copy()
    apply_action(after, np.uint64(main), words)
    kickers: list[int] = []
    while after[layout.STAGE] == layout.STAGE_KICKER:
        offered = [action - KICKER_BASE for action in legal_ids(after, words)]
        again = bool(kickers) and kickers[-1] in offered and rng.random() < 0.6
        kickers.append(kickers[-1] if again else int(rng.choice(offered)))
        apply_action(after, np.uint64(KICKER_BASE + kickers[-1]), words)
    return main, tuple(kickers)


def played_position(rules: Rules, rng: np.random.Generator) -> Position:
    """A random deal played randomly to a random depth; the game goes on."""
    deal = random_deal(rules, rng)
    row, words, moves = row_of(deal, rules), rules.words(), []
    for _ in range(int(rng.integers(0, 40))):
        move = _random_move(row, words, rng)
        after = row.copy()
        play_row(after, move, words)
        if after[layout.STAGE] == layout.STAGE_OVER:
            break
        row = after
        moves.append(move)
    return Position(rules, deal, 0, tuple(moves))


def _after_lead(deal: Deal, rules: Rules, leader: int, move: Move | None, passed: bool) -> Position:
    """The position after a lead and perhaps a pass, or the lead itself if there is none or the game would be over."""
    if move is None:
        return Position(rules, deal, leader)
    row = row_of(deal, rules, leader)
    play_row(row, move, rules.words())
    if row[layout.STAGE] == layout.STAGE_OVER:
        return Position(rules, deal, leader)
    passes = [(0, ())] if passed and rules.players > 2 else []
    return Position(rules, deal, leader, (move, *passes))


def bunched_position(rules: Rules, rng: np.random.Generator, leader: int | None = None) -> Position:
    """A bunched deal: a seat (a random one by default) leads, or (in three of four) has just led something large."""
    deal = bunched_deal(rules, rng)
    leader = int(rng.integers(rules.players)) if leader is None else leader
    move = None
    if rng.random() < 0.75:
        move = _large_move(row_of(deal, rules, leader), rules.words(), rng)
    return _after_lead(deal, rules, leader, move, rng.random() < 0.3)


def stacked_position(rules: Rules, rng: np.random.Generator, leader: int | None = None) -> Position:
    """A stacked deal: a seat leads, or (in five of six) has just led a plane with solos if it could."""
    leader = int(rng.integers(rules.players)) if leader is None else leader
    passed = bool(rng.random() < 0.3)
    follower = (leader + 1 + (passed and rules.players > 2)) % rules.players
    deal = stacked_deal(rules, rng, (leader, follower))
    move = None
    if rng.random() < 5 / 6:
        move = _plane_with_solos(row_of(deal, rules, leader), rules.words(), rng)
    return _after_lead(deal, rules, leader, move, passed)


def positions(rules: Rules, number: int, seed: int) -> Iterator[Position]:
    """Positions of a preset: half from play, a quarter bunched, a quarter stacked."""
    rng = np.random.default_rng(seed)
    kinds = (played_position, bunched_position, played_position, stacked_position)
    for index in range(number):
        yield kinds[index % 4](rules, rng)


def rare_positions(rules: Rules, number: int, seed: int, leader: int | None = None) -> Iterator[Position]:
    """Bunched and stacked positions in turn; a random seat leads by default."""
    rng = np.random.default_rng(seed)
    for index in range(number):
        yield (stacked_position if index % 2 else bunched_position)(rules, rng, leader)
