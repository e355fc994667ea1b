"""Commands of the bot beside run and check, one file each with `register(app)`; `common` is shared.

What a command needs is imported inside its function, so that `bot --help` stays quick.
"""
