"""The status page and its controls: the newest picture, for people and for machines."""
