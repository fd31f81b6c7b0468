"""Deals in which the landlord holds jokers, as a file for ``--deal-file``: ``python tools/joker_deals.py > one.txt``.

The largest information set of the paper of 2011 has just over 2.6 million states; with one joker unseen it has
2,605,724, with both 3,960,778.  So the landlord holds a joker in its 1,000 deals; of unselected ones 48 % are such.
"""

from __future__ import annotations

import argparse

from ddz_env import Hand, State
from ddz_papers.determinization_2011.full_games import DEAL_COUNT, DealListOptions

JOKERS = (13, 14)
"""Their ranks."""


def main() -> None:
    """Print numbers of the deals of 2011, or hands of deals from the same stream."""
    parser = argparse.ArgumentParser(description="Deals in which the landlord holds jokers.")
    parser.add_argument("--jokers", type=int, default=1, choices=(0, 1, 2), help="how many; 1 by default")
    parser.add_argument("--at-least", action="store_true", help="or more")
    parser.add_argument("--deals", type=int, help="so many hands; without it, the numbers among the 1,000 deals")
    given = parser.parse_args()
    options, printed = DealListOptions(), 0
    for number in range(DEAL_COUNT if given.deals is None else 10**9):
        state = options.new_game(number)
        held = sum(state.hand(0).counts[rank] for rank in JOKERS)
        if held == given.jokers or (given.at_least and held > given.jokers):
            printed += 1
            print(number if given.deals is None else _line(state))
        if printed == given.deals:
            return


def _line(state: State) -> str:
    """The hands as dealt, and the landlord cards."""
    bottom = state.bottom.counts
    dealt = Hand(tuple(held - low for held, low in zip(state.hand(0).counts, bottom, strict=True)))
    return " / ".join(map(str, (dealt, state.hand(1), state.hand(2), state.bottom)))


if __name__ == "__main__":
    main()
