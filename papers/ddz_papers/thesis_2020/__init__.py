"""Whom deals favour, game complexity, and UCT iterations that equal an agent (Wang Zhengfei's thesis, 2020)."""
