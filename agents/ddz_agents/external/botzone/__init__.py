"""Bots of Botzone as agents: programs in processes of their own that speak the platform's JSON."""
