"""Random play in the games of the program."""

from tests.integrations.speed import rows, vector

PLAYS = {"cleanrl": (rows, vector(16))}
