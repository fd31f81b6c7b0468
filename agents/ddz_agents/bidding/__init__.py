"""Agents that bid and double, and estimates of how much a hand is worth before the cards are played.

Wang Yajie, Ding Aodong, Qi Bingzhi and Zhang Yunfan choose the stakes of no-limit Texas hold'em by expected payoff, and
use that policy in the simulations of UCT.  Here it is carried over to the auction and the doubling of Dou Dizhu
(:mod:`ddz_agents.bidding.payoff` has the equations), and kept for hold'em itself
(:mod:`ddz_papers.payoff_policy.holdem`).
"""
