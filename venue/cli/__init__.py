"""The command line of the venue, and how every command of ours begins and ends."""
