"""Draw the table of a random game: ``python -m ddz_env.table.render --seed 7 --moves 12 --out table.png``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ddz_env.core.errors import DouDizhuError
from ddz_env.core.state import State
from ddz_env.table.render import render_ansi, render_rgb


def demo_game(seed: int, moves: int, rules: str = "standard") -> State:
    """A game after some moves of a simple player, for pictures.

    It leads its longest move of at most four cards, so that hands stay long, and follows with the first legal move
    that is no pass; it is no agent.

    Args:
        seed: Seed of the deal.
        moves: Completed moves at most; fewer if the game ends before.
        rules: A preset's name.

    Raises:
        DouDizhuError: If the seed is out of range or the preset unknown.
    """
    state = State.new(seed=seed, rules=rules)
    for _ in range(moves):
        if state.is_over:
            break
        legal = state.legal_moves()
        if state.view().on_lead:
            state.step(max((move for move in legal if len(move.cards) <= 4), key=lambda move: len(move.cards)))
        else:
            state.step(legal[min(1, len(legal) - 1)])
    return state


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    try:
        game = demo_game(options.seed, options.moves, options.rules)
        if options.out is None:
            print(render_ansi(game, perspective=options.perspective, colour=sys.stdout.isatty()))
        else:
            rgb = render_rgb(game, perspective=options.perspective, width=options.width, height=options.height)
            from PIL import Image  # which has drawn the picture

            options.out.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rgb).save(options.out, optimize=True)
    except DouDizhuError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ddz_env.table.render", description="Draw the table of a game.")
    parser.add_argument("--seed", type=int, default=7, help="seed of the deal (default: 7)")
    parser.add_argument("--moves", type=int, default=12, help="moves before the picture is taken (default: 12)")
    parser.add_argument("--rules", default="standard", help="preset, with options if wanted (default: standard)")
    parser.add_argument("--perspective", type=int, help="the seat that looks (default: every hand is shown)")
    parser.add_argument("--width", type=int, default=960, help="pixels across (default: 960)")
    parser.add_argument("--height", type=int, default=600, help="pixels down (default: 600)")
    parser.add_argument("--out", type=Path, help="the PNG to write (default: text on the terminal)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
