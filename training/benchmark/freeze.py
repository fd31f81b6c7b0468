"""How the committed parts of the benchmark were made: ``python -m training.benchmark.freeze PART``.

``positions`` plays the games of the sample, ``moves`` asks the field in it: both belong to version 1 and are not made
again.  ``ratings FILE ...`` fits the field's ratings to the games of ``ddz benchmark --field --out FILE``, with
``--full`` and without.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

from ddz_env import State
from ddz_env.agent import Agent
from ddz_env.errors import unknown
from ddz_env.playing import play_one, seat_generators
from ddz_env.registry import make_agent
from training.benchmark.deals import RULES
from training.benchmark.errors import InvalidBenchmarkRequestError
from training.benchmark.field import (
    FIELD,
    MOVES_FILE,
    POSITIONS_FILE,
    SAMPLE_SEED,
    chosen_moves,
    digest,
    read_positions,
)
from training.benchmark.file import read_file
from training.benchmark.leaderboard import write_field_ratings

_GAMES = 16
_POSITIONS_A_GAME = 4
_PLAYERS = ("random", "rules", "policy-final", "policy-last")
"""Who plays the games of the sample, in turns, so that it has good and bad positions."""


def _positions() -> list[dict[str, Any]]:
    agents = itertools.cycle([make_agent(FIELD[name].agent) for name in _PLAYERS])
    return [_game(deal, [next(agents) for _ in range(RULES.players)]) for deal in range(_GAMES)]


def _game(deal: int, agents: list[Agent]) -> dict[str, Any]:
    """A game, and after which of its moves somebody with a choice is asked: evenly over the game."""
    state = State.new(SAMPLE_SEED, RULES, deal)
    rngs = seat_generators([SAMPLE_SEED, deal], RULES.players)
    moves: list[str] = []
    open_: list[int] = []
    while not state.is_over:
        if len(state.legal_moves()) > 1:
            open_.append(len(moves))
        moves.append(str(play_one(state, agents, rngs)))
    step = len(open_) / _POSITIONS_A_GAME
    asked = [open_[int((number + deal / _GAMES) * step)] for number in range(_POSITIONS_A_GAME)]
    return {"deal": deal, "moves": " ".join(moves), "asked": asked}


def _moves() -> dict[str, str]:
    positions = read_positions()
    return {member.name: " ".join(chosen_moves(member.agent, positions)) for member in FIELD.values()}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(part: str, *arguments: str) -> None:
    """Make a part again.

    Args:
        part: ``positions``, ``moves`` or ``ratings``.
        *arguments: For the ratings, the files of the field's games.
    """
    if part == "positions":
        _write(POSITIONS_FILE, _positions())
    elif part == "moves":
        _write(MOVES_FILE, made := _moves())
        print({name: digest(moves.split()) for name, moves in made.items()})
    elif part == "ratings":
        write_field_ratings(*(read_file(Path(argument)) for argument in arguments))
    else:
        raise InvalidBenchmarkRequestError(unknown("part", part, ("positions", "moves", "ratings")))


if __name__ == "__main__":
    main(*sys.argv[1:])
