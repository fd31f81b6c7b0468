"""Tuning: simulated annealing, local beam search and a genetic algorithm on the weights of the rule agent."""
