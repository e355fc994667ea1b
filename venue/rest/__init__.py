"""The REST shell: parse, ask, format; it decides nothing."""
