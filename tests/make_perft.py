"""Write the golden files: ``python -m tests.make_perft``.

``data/perft.json`` counts the paths of action ids from a deal, depth by depth; ``data/game.txt`` is one whole game.
Both come from the slow reference of the rules; only the deals are the engine's, so the files pin them as well.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from ddz_env.core.actions import MAIN_GROUPS
from ddz_env.core.notation import Move as Notation
from ddz_env.core.rules import PRESETS, Rules
from ddz_env.core.state import State
from tests.oracles.reference import Game, Move, action_path, category_of, readings

DATA = Path(__file__).parent / "data"
ENOUGH_PATHS = 4_000
"""No deeper once a depth has this many paths (or none: a short game has ended)."""
DEEPEST_BEFORE_A_REDEAL = 3
GAME_RULES = "bidding"


def game_of(state: State) -> Game:
    rules, auction = state.rules, state.rules.bidding != "fixed"
    hands = [state.hand(seat).counts for seat in range(rules.players)]
    return Game(hands, rules, state.bottom.counts, None if auction else 0, state.seat)


def count_paths(game: Game, depth: int) -> int:
    """How many sequences of ``depth`` action ids can be chosen from here (a kicker is an action of its own)."""
    paths = [action_path(move) if move[0] < len(MAIN_GROUPS) else (move[0],) for move in game.legal_moves()]
    total = len({path[:depth] for path in paths if len(path) >= depth})
    for move, path in zip(game.legal_moves(), paths, strict=True):
        if len(path) < depth:
            after = copy.deepcopy(game)
            after.play(move)
            total += count_paths(after, depth - len(path))
    return total


def perft(rules: Rules, seed: int) -> dict[str, Any]:
    state = State.new(seed, rules)
    counts: list[int] = []
    while not counts or 0 < counts[-1] < ENOUGH_PATHS:
        if rules.bidding != "fixed" and rules.all_decline == "redeal" and len(counts) == DEEPEST_BEFORE_A_REDEAL:
            break
        counts.append(count_paths(game_of(state), len(counts) + 1))
    hands = [str(state.hand(seat)) for seat in range(rules.players)]
    return {"preset": rules.name, "seed": seed, "hands": hands, "first": state.seat, "paths": counts}


def telling_seed(rules: Rules) -> int:
    """The first seed from 2 on whose first hand holds a quad and (except with small decks) kickers for a plane."""
    wanted = {"bomb", "plane+solos"} & set(rules.categories) - ({"plane+solos"} if rules.half_deck else set())
    return next(
        seed
        for seed in range(2, 100_000)
        if wanted <= {category_of(move) for move in readings(State.new(seed, rules).hand().counts, rules)}
    )


def simple_move(game: Game) -> Move:
    """Bid on jokers and 2s; lead the most cards, follow with the lowest move, bomb an opponent's last six cards."""
    moves = game.legal_moves()
    if game.stage == "bid":
        hand = game.hands[game.seat]
        return moves[-1 if hand[13] + hand[14] == 2 or hand[12] >= 3 else 1 if hand[12] == 2 else 0]
    if game.target is None:
        return max(moves, key=lambda move: (MAIN_GROUPS[move[0]].cards, -MAIN_GROUPS[move[0]].rank))
    replies = [move for move in moves[1:] if category_of(move) == game.target.category]
    others = [move for move in moves[1:] if move not in replies]
    friend = game.landlord not in (game.owner, game.seat)
    if replies and not friend:
        return replies[0]
    urgent = not friend and sum(game.hands[game.owner]) <= 6
    return others[0] if urgent and others else moves[0]


def play_simply(state: State) -> tuple[Game, list[str]]:
    """Play a game to its end; return it and its lines: seat, hand sizes afterwards, move."""
    game, lines = game_of(state), []
    while game.stage in ("bid", "play"):
        seat, move = game.seat, simple_move(game)
        game.play(move)
        lines.append(f"{seat} {' '.join(f'{sum(hand):2}' for hand in game.hands)}  {Notation(*move)}")
    return game, lines


def is_rich(game: Game) -> bool:
    """Whether a finished game is worth recording: bombs, chains, kickers of both sizes and a contested auction."""
    seen = {category_of(move) for _, move in game.played}
    kickers = any("solo" in name and "+" in name for name in seen) and any("+" in n and "pair" in n for n in seen)
    chains = any("chain" in name for name in seen) and any("plane" in name for name in seen)
    return game.winner is not None and bool({"bomb", "rocket"} & seen) and kickers and chains and len(game.spoken) > 1


def record() -> str:
    for seed in range(10_000):
        state = State.new(seed, GAME_RULES)
        dealt = [f"{seat} {state.hand(seat)}" for seat in range(3)]
        game, lines = play_simply(state)
        if is_rich(game):
            returns = [f"{name} {' '.join(map(str, game.returns(name)))}" for name in ("win", "stake", "botzone")]
            blocks = [[f"rules {GAME_RULES}", f"seed {seed}", f"bottom {state.bottom}"], dealt, lines, returns]
            return "\n\n".join("\n".join(block) for block in blocks) + "\n"
    raise LookupError("no rich game among the seeds tried")


def main() -> None:
    entries = [perft(rules, seed) for rules in PRESETS.values() for seed in (1, telling_seed(rules))]
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    (DATA / "perft.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (DATA / "game.txt").write_text(record(), encoding="utf-8")


if __name__ == "__main__":
    main()
