"""Random play through SuperSuit's chain."""

from functools import partial

from tests.integrations.speed import aec, rows

PLAYS = {"supersuit-aec": (partial(rows, seats=2), aec)}
