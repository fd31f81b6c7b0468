"""Two-player no-limit Texas hold'em, the game of the payoff paper, with its policy and two searches as agents.

The match is the paper's: 20,000 chips each, bets in steps of 500.  Nothing here knows of Dou Dizhu but the equations,
which both games share (:mod:`ddz_agents.bidding.payoff`).
"""
