"""What runs: the loop, sessions and fleets of it, the reaper, a recording, a dry run."""
