"""What holds for every test: a generated example may take as long as it takes on a busy machine."""

from hypothesis import settings

# Speed is claimed in bench/, as a ratio, and never by a test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
