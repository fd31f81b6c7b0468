"""How fast the game, its search and its environments are, beside the installed peers: ``make bench``."""
