"""The outside judge: the interface's statements in raw JSON, with none of the project's types."""
