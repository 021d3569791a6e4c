"""Settings for all tests."""

import asyncio

from hypothesis import settings

pytest_plugins = ["tests.recording"]

# The machine is shared and noisy: no test may fail for being slow.
settings.register_profile("grove", deadline=None)
settings.load_profile("grove")

# looptime's plugin asks for the event loop around tests that have none, too. Once a loop was set, even to none, asyncio
# no longer makes one on the spot, which nobody would close.
asyncio.set_event_loop(None)
