"""Planted bugs: classic mistakes as patches, which the simulator has to find."""
