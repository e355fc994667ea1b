"""Helpers of the claims about sessions with another configuration."""
