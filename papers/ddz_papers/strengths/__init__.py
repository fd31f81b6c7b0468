"""The strength of this project's agents, and the accuracy of the winning chances that they give."""
