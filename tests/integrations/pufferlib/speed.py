"""Random play through PufferLib's vector environments."""

from functools import partial

from tests.integrations.speed import aec, rows, single

PLAYS = {"pufferlib": (rows, single), "pufferlib-aec": (partial(rows, seats=2), aec)}
