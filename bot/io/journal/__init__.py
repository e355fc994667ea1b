"""The journal: written before requests are sent, read after a crash, archived."""
