"""Agents without search: uniform play and hand-written rules."""
