"""Adapters to other platforms: Botzone, OpenSpiel, and RLCard's flat actions."""
