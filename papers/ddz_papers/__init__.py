"""Reproduced experiments of five papers: algorithms, commands, and tables of published and own figures."""
