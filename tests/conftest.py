"""Settings for all tests."""

from hypothesis import settings

# The machine is shared and noisy: no test may fail for being slow.
settings.register_profile("grove", deadline=None)
settings.load_profile("grove")
