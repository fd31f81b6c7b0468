"""Information-set search with a learned policy as its prior and learned values at its leaves."""
