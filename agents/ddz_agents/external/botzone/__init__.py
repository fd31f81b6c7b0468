"""Botzone's bots as agents: programs that run in their own processes and speak the platform's JSON."""
