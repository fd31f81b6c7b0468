"""Other forms of the policy network, and other updates, trained side by side on one GPU and played out on the spot."""
