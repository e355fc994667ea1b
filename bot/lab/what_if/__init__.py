"""A recorded session with another configuration, against the market that its journal shows."""
