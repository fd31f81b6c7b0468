"""Adapters for other platforms: Botzone, OpenSpiel, and RLCard's flat action space."""
