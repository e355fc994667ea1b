"""The command log on disk: framing, segments, snapshots, and the directory that holds them."""
