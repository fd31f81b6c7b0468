"""The rule agent: it plays by hand decomposition and hand-written rules, without search."""
