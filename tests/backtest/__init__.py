"""Claims about playing recorded markets through the whole trader."""
