"""The image without an engine: the Dockerfile as data, its context, its stages, its container."""
