"""The reproduced experiments of five papers: algorithms, tables with published and own figures, and commands."""
