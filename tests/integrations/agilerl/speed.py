"""Random play in the games of the program: the vector environment itself."""

from tests.integrations.speed import rows, vector

PLAYS = {"agilerl": (rows, vector(16))}
