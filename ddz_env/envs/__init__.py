"""The environments: PettingZoo's AEC form, Gymnasium's single and vector forms, and self-play batches."""
