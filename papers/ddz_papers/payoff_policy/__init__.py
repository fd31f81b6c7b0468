"""The expected-payoff policy in two-player no-limit hold'em, and the matches of the payoff paper."""
