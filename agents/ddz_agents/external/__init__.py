"""Agents from other projects, wrapped as agents of this project: RLCard, DouZero and Botzone's bots."""
