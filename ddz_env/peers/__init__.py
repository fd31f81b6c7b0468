"""Other people's platforms: Botzone, OpenSpiel, and RLCard's flat actions."""
