"""Leagues: many agents on duplicate deals, every game in one database, and what they are rated by."""
