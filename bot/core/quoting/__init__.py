"""One event as it is quoted: its rungs together, what pulls it, and what it teaches."""
