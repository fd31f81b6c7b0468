"""Determinization and information-set UCT (Whitehouse, Powley and Cowling 2011): Mini Dou Dizhu and the full game."""
