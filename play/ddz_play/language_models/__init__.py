"""Language models as agents, through any endpoint with the chat-completions interface."""
