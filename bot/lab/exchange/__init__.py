"""One simulated venue: the real engine behind a front door, with plugs for all that is assumed."""
