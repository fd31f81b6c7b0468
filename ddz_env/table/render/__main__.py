"""Draw the table of a random game: ``python -m ddz_env.table.render --seed 7 --moves 12 --out table.png``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ddz_env.core.errors import DouDizhuError, MissingDependencyError
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
    while moves > 0 and not state.is_over:
        legal, moves = state.legal_moves(), moves - 1
        follow = legal[:2][-1]
        longest = max((move for move in legal if len(move.cards) <= 4), key=lambda move: len(move.cards))
        state.step(longest if state.view().on_lead else follow)
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
            _save(rgb, options.out)
    except DouDizhuError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ddz_env.table.render", description="Draw the table of a game.")
    for name, kind, default, about in (
        ("seed", int, 7, "seed of the deal (default: 7)"),
        ("moves", int, 12, "moves before the picture is taken (default: 12)"),
        ("rules", str, "standard", "preset, with options if wanted (default: standard)"),
        ("perspective", int, None, "the seat that looks (default: every hand is shown)"),
        ("width", int, 960, "pixels across (default: 960)"),
        ("height", int, 600, "pixels down (default: 600)"),
        ("out", Path, None, "the PNG to write (default: text on the terminal)"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, help=about)
    return parser


def _save(rgb: npt.NDArray[np.uint8], path: Path) -> None:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError("Pillow") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rgb).save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
