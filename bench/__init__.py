"""Every speed claim as a command: a figure and its anchor, both measured in the same run."""
