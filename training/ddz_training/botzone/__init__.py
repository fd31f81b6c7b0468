"""Local tools for Botzone: matches in the platform's JSON, agents run as bots, and archives for upload."""
