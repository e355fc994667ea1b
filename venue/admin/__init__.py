"""The operator's side of the venue: its own address, its own token, its own command line."""
