"""Expert iteration: what a search with the policy chooses is taught to the policy again."""
