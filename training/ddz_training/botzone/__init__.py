"""Botzone at home: matches in the platform's JSON, agents as bots, and the archive that is uploaded."""
