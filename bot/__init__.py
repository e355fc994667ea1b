"""The bot: makes markets on strike ladders of binary contracts."""

import os

# Ladders are small: handing their matrices to threads costs many times what the work does. It has
# to be said before numpy is imported for the first time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
