"""The subscription channel: a pure channel and the socket around it."""
