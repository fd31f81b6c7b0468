"""The rule agent, which plays by hand decomposition and hand-written rules, without search."""
