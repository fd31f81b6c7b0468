"""Information-set search with a learned policy as prior and learned values at the leaves."""
