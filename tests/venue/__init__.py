"""Claims about the venue's outside: reads, REST, channel, server."""
