"""Training of belief networks: where the hidden cards lie, learned from games of many kinds of players."""
