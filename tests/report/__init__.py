"""Helpers of the claims about the report."""
