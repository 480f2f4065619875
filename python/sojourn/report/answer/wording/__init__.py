"""The answer in sentences, in the order in which they are read. Each says what was measured, and no more."""
