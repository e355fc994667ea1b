"""The log lines of the process: made, masked, written, and kept for the page."""
