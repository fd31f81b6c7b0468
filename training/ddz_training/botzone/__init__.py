"""Tools for Botzone at home: matches in the platform's JSON, agents run as bots, and archives for upload."""
