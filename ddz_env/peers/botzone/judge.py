"""A judge as the platform calls it: the log of a match in, its next word out; it remembers nothing in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ddz_env.peers.botzone.bidding_judge import judge_bidding
from ddz_env.peers.botzone.deals import deal_cards, read_deal
from ddz_env.peers.botzone.fixed_judge import judge_fixed
from ddz_env.peers.botzone.games import BotzoneGame


def judge(
    game: BotzoneGame, log: Sequence[Mapping[str, Any]], initdata: Any = "", rng: np.random.Generator | None = None
) -> dict[str, Any]:
    """What the judge of a game says next.

    Args:
        game: The game.
        log: What was said so far: the judge's entries (``{"output": ...}``) and the bots' (``{"0": {"verdict": ...,
            "response": ...}}``) in turn; empty at the start.
        initdata: The deal, as the judge's first word has it; text or an object.  None or empty: deal one.
        rng: Deals where ``initdata`` does not.

    Returns:
        ``command`` (``request`` or ``finish``), ``content`` (whom it asks what, or the scores by seat) and ``display``;
        at the start ``initdata``, too.

    Raises:
        InvalidDealError: If ``initdata`` is no deal of the game.
    """
    deal = read_deal(initdata, game) or deal_cards(game, rng or np.random.default_rng())
    seed = str(initdata.get("seed", "0")) if isinstance(initdata, Mapping) else "0"
    return (judge_bidding if game.has_auction else judge_fixed)(log, deal, seed)
