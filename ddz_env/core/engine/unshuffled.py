"""Deals with an unshuffled deck: the cards of a previous game, played at random, are collected, cut and dealt."""

from __future__ import annotations

import numpy as np

from ddz_env.core.engine import layout as at
from ddz_env.core.engine.deal import cut_pile, deal_packets, deal_rest, new_game, start_game
from ddz_env.core.engine.moves import draw_move
from ddz_env.core.engine.random import advance, mix
from ddz_env.core.engine.step import body_cards, pass_turn, play_without_bookkeeping
from ddz_env.core.engine.words import U0, add_hand
from ddz_env.support.compiling import part_kernel, pure_kernel


@pure_kernel
def new_unshuffled_game(row: np.ndarray, seed: np.uint64, rules: np.ndarray, mask: np.ndarray) -> None:
    """Start a game with an unshuffled deck: play a previous game at random, and deal its collected cards.

    The last game is dealt as that function deals it; seat 0 takes the landlord cards, without an auction, and every
    move is uniform over the legal ones.

    Args:
        row: Output, shape ``[32]``, uint64.
        seed: The game's generator state.
        rules: The rules array.
        mask: Scratch, shape ``[MASK_WORDS]``, uint64.
    """
    new_game(row, seed, rules)
    _begin_play(row)
    index = cut_pile(row, rules)
    state = row[at.RNG]
    while row[at.STAGE] != at.STAGE_OVER:
        state = advance(state)
        main, kickers = draw_move(row, rules, mask, mix(state))
        if main == U0:
            pass_turn(row, rules)
        else:
            index = deal_packets(row, body_cards(main), index, rules)
            index = deal_packets(row, kickers, index, rules)
            play_without_bookkeeping(row, main, kickers, rules)
    row[at.RNG] = state
    deal_rest(row, index, rules)
    start_game(row, rules)


@part_kernel
def _begin_play(row: np.ndarray) -> None:
    """Skip any auction, give seat 0 the landlord cards and let it lead."""
    if row[at.LANDLORD] == at.NO_SEAT:
        row[at.HANDS] = add_hand(row[at.HANDS], row[at.BOTTOM])
    row[at.BOTTOM] = U0
    row[at.SEAT] = U0
    row[at.STAGE] = at.STAGE_PLAY
