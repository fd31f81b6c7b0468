"""Games that differ in hidden cards alone: a seat must see the same of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ddz_env import Hand, Move, Rules, State, View
from ddz_env.core.cards import counts_to_word
from ddz_env.core.engine.layout import BOTTOM, HANDS, HIDDEN, KNOWN, LANDLORD, NO_SEAT
from ddz_env.core.notation import word_to_counts
from ddz_env.playing.agent import Decision
from ddz_env.saved_games import Deal, SavedGame
from ddz_play.session import Session


def permuted(state: State, seat: int, rng: np.random.Generator) -> State:
    """The same game with the cards that a seat does not see dealt again, hand sizes kept."""
    row = state.row
    places = [(HIDDEN, 0)] + ([(BOTTOM, 0)] if int(row[LANDLORD]) == NO_SEAT else [])
    for other in range(state.rules.players):
        if other != seat:
            places.append((HANDS + other, int(row[KNOWN]) if other == int(row[LANDLORD]) else 0))
    pool: list[int] = []
    sizes = []
    for word, fixed in places:
        counts = np.subtract(word_to_counts(int(row[word])), word_to_counts(fixed))
        sizes.append(int(counts.sum()))
        pool += np.repeat(np.arange(15), counts).tolist()
    shuffled = list(rng.permutation(pool)) if pool else []
    twin = state.copy()
    for (word, fixed), size in zip(places, sizes, strict=True):
        counts = np.array(word_to_counts(fixed))
        for _ in range(size):
            counts[int(shuffled.pop())] += 1
        twin.row[word] = counts_to_word(counts.tolist())
    return twin


class Scripted:
    """Makes the moves of :attr:`moves`, and thinks of the cards that it holds: its thoughts give them away."""

    name = "scripted"
    moves: ClassVar[Sequence[Move]] = ()

    def act(self, view: View, rng: np.random.Generator) -> Move:
        return self.moves[len(view.history)]

    def decide(self, view: View, rng: np.random.Generator) -> Decision:
        move = self.act(view, rng)
        others = [one.main for one in view.legal_moves() if one.main != move.main]
        value = view.hand.word % 997 / 997
        return Decision(move, {move.main: 2, **dict.fromkeys(others, 1)}, dict.fromkeys([move.main, *others], value))


@functools.cache
def twin_games(rules: str, seat: int) -> tuple[SavedGame, SavedGame]:
    """A whole game, and one with the same moves whose others hold, and keep to the end, other cards."""
    preset, rng = Rules.preset(rules), np.random.default_rng(seat)
    for seed in itertools.count():
        session = Session(SavedGame(Deal(preset, seed), ("rules",) * preset.players))
        session.let_agents_play()
        record = session.to_saved_game()
        over = record.deal.state(record.moves)
        twin = permuted(over, seat, rng)
        hands = [twin.hand(other) == over.hand(other) for other in range(preset.players)]
        if over.view().landlord is not None and len(over.history) == len(record.moves) and not all(hands):
            return _told(over, record), _told(twin, record)
    raise AssertionError


def _told(over: State, record: SavedGame) -> SavedGame:
    """The game that ended so, from the cards on."""
    view = over.view()
    hands = []
    for seat in range(over.rules.players):
        held = np.array(over.hand(seat).counts) + view.played(seat).counts
        if seat == view.landlord:
            held -= view.landlord_cards.counts
        hands.append(Hand(tuple(held.tolist())))
    deal = Deal.from_cards(over.rules, hands, view.landlord_cards, opener=record.moves[0][0])
    return SavedGame(deal, (f"{__name__}:Scripted",) * over.rules.players, record.moves)
