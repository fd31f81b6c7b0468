"""Random play through SuperSuit's chains."""

from functools import partial

from tests.integrations.speed import aec, rows, single

PLAYS = {"supersuit": (rows, single), "supersuit-aec": (partial(rows, seats=2), aec)}
