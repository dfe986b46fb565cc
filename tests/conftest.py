"""Settings shared by all tests."""

import os

from hypothesis import settings

# No time limit per example: tests must not depend on how busy the machine is. `make test` tries the same examples
# every time; `make explore` looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True, database=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
