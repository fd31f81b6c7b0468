"""Agents of other projects as agents of this one: RLCard, DouZero, Botzone's bots."""
