"""The layout of the game-state array, which holds a whole game in ``ROW_WORDS`` unsigned 64-bit words.

Copying, hashing, pickling, sharing and batching a game is copying, hashing ... a row.  The recent moves that
observations need are a ring beside it, which search without networks never copies.
"""

from __future__ import annotations

HANDS = 0
"""Words 0..2: the hand of each seat."""
HIDDEN = 3
"""Cards that no seat holds or sees (Mini, half deck).  In a view: the pool of unseen cards."""
BOTTOM = 4
"""The landlord cards; face down until somebody is the landlord."""
KNOWN = 5
"""Cards of the landlord that everybody sees and that are not played yet: landlord cards, or a shown hand."""
PLAYED = 6
"""Words 6..8: the cards each seat has played."""
SEAT = 9
"""The seat to act."""
STAGE = 10
"""One of the ``STAGE_`` constants."""
TARGET = 11
"""The main group to beat: an action id, 0 on lead, ``BOMBS_ONLY`` where only a bomb or the rocket may follow."""
KEY = 12
"""What the reply must exceed: the target's lowest rank (its highest trio under ``kicker_trios="merge"``), 0 for the
rocket."""
OWNER = 13
"""The seat that played the target."""
PASSES = 14
"""Passes (in the auction: declined bids) in a row."""
PENDING = 15
"""The main group whose kickers are being chosen, 0 if none."""
CHOSEN = 16
"""The kickers chosen so far, as a hand."""
LEFT = 17
"""Kickers still to choose."""
FLOOR = 18
"""The rank of the last kicker: the next is not lower."""
LANDLORD = 19
"""The landlord's seat, ``NO_SEAT`` before the auction ends."""
BIDS = 20
"""Four bits per seat: 0 has not spoken, 1 no bid, 2..4 bid 1..3 (when robbing: 2 called, 3 robbed, 4 called and robbed
back); bits 12..15 the highest bid (1 once somebody has called), 16..19 the opener, 20..23 how often the place was
robbed, 24 whether the landlord has shown its hand."""
HIGHEST_BID, OPENER, ROBS, SHOWN = range(3, 7)
"""Fields of ``BIDS`` behind those of the seats."""
DOUBLES = 21
"""Two bits per seat: 0 has not spoken, 1 no, 2 doubled."""
BOMBS = 22
"""Bombs and rockets played."""
PLAYS = 23
"""Eight bits per seat: moves played, passes not counted."""
WEIGHTS = 24
"""Sixteen bits per seat: Botzone's combination weights, in hundredths."""
WINNER = 25
"""1 + the seat that went out; 0 while the game runs; ``NO_GAME`` when all declined and the game ended."""
MOVES = 26
"""Completed moves, passes and bids included."""
RNG = 27
"""The game's own generator, for deals after the first (all declined).  Zero in a view."""
SIZES = 28
"""Views only: eight bits per seat, cards in hand."""
LEFT_OUT = 29
"""Cards of the deck that lie face up on the table from the beginning (``left_out_open``)."""
ROW_WORDS = 32

STAGE_PLAY, STAGE_KICKER, STAGE_BID, STAGE_DOUBLE, STAGE_OVER, STAGE_SHOW = range(6)
NO_SEAT = 3
NO_GAME = 9
BOMBS_ONLY = 511
"""A main id that no main group has."""

HISTORY_MOVES = 16
"""Moves that a ring holds; move number ``n`` is at slot ``n % 16``."""
HISTORY_WORDS = 2
"""Words per slot: the cards of the move as a hand, and ``main id | seat << 16`` (bids keep their action id)."""
