"""What the outside may see, built only from the engine's events."""
