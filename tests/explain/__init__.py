"""Helpers of the claims about explanations and plans."""
