"""Helpers of the claims about journals lived again."""
