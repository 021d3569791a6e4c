"""What all tests share."""

import asyncio


def pytest_configure() -> None:
    # pytest-asyncio asks for the current event loop before each async test. Up to Python 3.11 that question makes
    # one, which nobody closes; with the answer "there is none" on record, it does not.
    asyncio.set_event_loop(None)
