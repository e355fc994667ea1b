"""The worst case of given holdings and orders."""
