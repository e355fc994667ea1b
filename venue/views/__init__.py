"""Public views, built only from the engine's events."""
