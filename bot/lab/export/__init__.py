"""Journals as tables, and the files that those become."""
