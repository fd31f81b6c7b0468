"""No-limit Texas hold'em for two, the game of the expected-payoff paper: its policy and its two searches as agents.

They play PettingZoo's ``texas_holdem_no_limit_v6`` (``pip install -e '.[holdem]'``), whose few bets are shares of
the pot and of the stack.  Nothing here knows of Dou Dizhu but the equations, which both games share
(:mod:`ddz_agents.bidding.payoff`).
"""
