"""Generated requests and frames against a real venue process, judged by its own description."""

SITE_VARIABLE = "LADDERMAKER_FUZZ_SITE"
"""Names the file that tells the hooks where the venue is."""
