"""The configuration file: its sections, their bounds, secrets, differences, and live reload."""
