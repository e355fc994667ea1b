"""Between bot and venue: requests and frames on their way, and what befalls them."""
