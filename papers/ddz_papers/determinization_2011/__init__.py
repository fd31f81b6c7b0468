"""Exact search for Mini Dou Dizhu and small endgames: minimax, determinized minimax, information-set expectimax."""
