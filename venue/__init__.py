"""The venue: the contract of the trading service (`wire`) and a faithful working copy of it."""
