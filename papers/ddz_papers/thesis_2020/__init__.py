"""Whom deals favour, game complexity, and agents' equivalent UCT iterations (Wang Zhengfei's thesis, 2020)."""
