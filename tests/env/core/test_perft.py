"""Golden numbers: how many paths of action ids a deal has, depth by depth, and one whole game, line by line.

``python -m tests.make_perft`` writes both files from the slow reference.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ddz_env.core.engine.deal import new_game
from ddz_env.core.engine.layout import NO_GAME, ROW_WORDS, STAGE, STAGE_OVER, WINNER
from ddz_env.core.engine.legal import count_legal, write_legal_mask
from ddz_env.core.engine.playout import play_random_games
from ddz_env.core.engine.random import advance, mix, scale_below, stream_state
from ddz_env.core.engine.step import apply_action
from ddz_env.core.notation import Move
from ddz_env.core.rules import PRESETS
from ddz_env.core.state import State
from tests.make_perft import DATA, game_of
from tests.oracles.positions import Row, legal_ids

ENTRIES: list[dict[str, Any]] = json.loads((DATA / "perft.json").read_text(encoding="utf-8"))
BLOCKS = [block.splitlines() for block in (DATA / "game.txt").read_text(encoding="utf-8").split("\n\n")]
HEADER: dict[str, str] = dict(line.split(" ", 1) for line in BLOCKS[0])


def count_paths(row: Row, words: Row, depth: int) -> int:
    if depth == 1:
        mask = np.zeros(7, np.uint64)
        write_legal_mask(row, words, mask)
        return int(count_legal(mask))
    total = 0
    for action in legal_ids(row, words):
        after = row.copy()
        apply_action(after, np.uint64(action), words)
        total += count_paths(after, words, depth - 1)
    return total


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry['preset']}-{entry['seed']}")
def test_a_seed_deals_the_same_cards_and_paths_for_ever(entry: dict[str, Any]) -> None:
    state = State.new(entry["seed"], entry["preset"])
    assert [str(state.hand(seat)) for seat in range(state.rules.players)] == entry["hands"]
    assert state.seat == entry["first"]
    depths = range(1, len(entry["paths"]) + 1)
    assert [count_paths(state.row, state.rule_words, depth) for depth in depths] == entry["paths"]


def test_every_preset_has_golden_numbers() -> None:
    assert {entry["preset"] for entry in ENTRIES} == set(PRESETS), "write them: python -m tests.make_perft"


def test_the_recorded_game_replays_line_by_line() -> None:
    state = State.new(int(HEADER["seed"]), HEADER["rules"])
    assert [f"{seat} {state.hand(seat)}" for seat in range(3)] == BLOCKS[1]
    assert str(state.bottom) == HEADER["bottom"]
    game = game_of(state)
    for line in BLOCKS[2]:
        (seat, *sizes), text = map(int, line.split()[:4]), line.split("  ")[-1]
        move = Move.parse(text, state.rules)
        assert (str(move), state.seat) == (text, seat)
        assert move in state.legal_moves()
        assert (move.main, move.kickers) in game.legal_moves()
        state.step(move)
        game.play((move.main, move.kickers))
        assert [len(state.hand(player)) for player in range(3)] == sizes, line
        assert state.history[-1] == (seat, move)
    assert state.is_over
    for line in BLOCKS[3]:
        scoring, *returns = line.split()
        assert state.returns(scoring) == pytest.approx(tuple(map(float, returns)))


@pytest.mark.parametrize("preset", ["standard", "openspiel"])
def test_random_games_draw_from_the_legal_actions_in_ascending_order(preset: str) -> None:
    words, seed, row = PRESETS[preset].words(), np.uint64(5), np.zeros(ROW_WORDS, np.uint64)
    decisions, wins = 0, [0, 0, 0]
    for game in range(12):
        state = np.uint64(stream_state(seed, np.uint64(game)))
        new_game(row, state, words)
        while row[STAGE] != STAGE_OVER:
            legal, state = legal_ids(row, words), np.uint64(advance(state))
            action = legal[int(scale_below(np.uint64(mix(state)), np.uint64(len(legal))))]
            apply_action(row, np.uint64(action), words)
            decisions += 1
        if row[WINNER] != NO_GAME:
            wins[int(row[WINNER]) - 1] += 1
    drawn, won = play_random_games(12, seed, words)
    assert (drawn, won.tolist()) == (decisions, wins)
