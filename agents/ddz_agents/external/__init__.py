"""Agents of other projects, wrapped."""
