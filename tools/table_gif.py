"""A short film of a game between copies of the shipped policy: ``python tools/table_gif.py [FILE.gif]``."""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from ddz_env import dou_dizhu_v0

OUT = Path(__file__).parent.parent / "docs" / "images" / "game.gif"
SEED, SIZE, COLOURS = 42, (720, 504), 16
MILLISECONDS, LAST = 700, 3000
"""How long a frame is shown."""


def frames() -> list[Image.Image]:
    """A picture of the table after every stage of a move, all hands open."""
    env = dou_dizhu_v0.env(render_mode="rgb_array")
    env.reset(seed=SEED)
    players = {name: dou_dizhu_v0.AECPlayer("policy") for name in env.agents}
    shown = [env.render()]
    for name in env.agent_iter():
        *_, over, cut, _ = env.last()
        env.step(None if over or cut else players[name].next_action(env))
        if not over:
            shown.append(env.render())
    env.close()
    return [Image.fromarray(picture).resize(SIZE).quantize(COLOURS, dither=Image.Dither.NONE) for picture in shown]


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    first, *others = frames()
    times = [MILLISECONDS] * len(others) + [LAST]
    first.save(path, save_all=True, append_images=others, duration=times, loop=0, optimize=True)
    print(f"{path}: {len(others) + 1} frames, {path.stat().st_size / 1000:.0f} kB")
