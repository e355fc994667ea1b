"""Peers that mean harm, and what it costs everybody else: real sockets, raw bytes."""
