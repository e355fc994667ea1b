"""Configuration as text becomes values: YAML, types, parameters, plugins, a file that changes."""
