"""Environments: PettingZoo's AEC, Gymnasium's single and vector forms, and batches."""
