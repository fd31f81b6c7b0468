"""No-limit Texas hold'em for two, the game of the expected-payoff paper: its policy and its two searches as agents.

The match is the paper's: 20,000 chips each, bets in steps of 500.  Nothing here knows of Dou Dizhu but the equations,
which both games share (:mod:`ddz_agents.bidding.payoff`).
"""
