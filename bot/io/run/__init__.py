"""The processes: the loop, sessions of one or more runners, the reaper, a recording, a dry run."""
