"""Commands of a game with people: play, watch, ask, solve, replay."""
