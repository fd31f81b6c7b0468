"""Bots of Botzone as agents: programs in processes of their own, asked in the platform's JSON."""
