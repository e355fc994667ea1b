"""A run as one page: profit and its sources, inventory, quotes, requests and rejects."""
