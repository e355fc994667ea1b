"""The bot's shell under a virtual clock: real tasks, real HTTP, in-memory connections, one seed."""
