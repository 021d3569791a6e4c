"""What the backends declare, beside what real runs showed and what the page says."""

from pathlib import Path

import pytest

from grove.generate.scheduler_table import PAGE, Shown, offers, page, results, table
from grove.schedulers.backend import Backend
from grove.schedulers.promises import Offer, Promise
from grove.schedulers.registry import installed

ROOT = Path(__file__).parents[3]
OFFERS = {offer.key: offer for _, offer in offers()}


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / PAGE).read_text() == page(ROOT), "run `make docs`, and look at what changed"


@pytest.mark.parametrize("name", installed())
def test_every_backend_declares_what_it_promises(name: str) -> None:
    backend: Backend = installed()[name]({})
    assert backend.variants
    for offer in backend.variants:
        assert not offer.kept.keys() & offer.instead.keys(), "it is either kept or not"


@pytest.mark.parametrize("key", OFFERS)
def test_every_promise_was_shown_by_a_real_run(key: str) -> None:
    """`make e2e RECORD=1` records one."""
    shown = results(ROOT).get(key)
    assert shown is not None, "there is no recorded run"
    assert {p.name for p in OFFERS[key].kept} <= set(shown.promises), "a promise without a test"
    assert shown.versions


def test_a_promise_is_bold_when_it_was_shown() -> None:
    backend = installed()["kai"]({})
    offer = Offer(
        "kai", "KAI", {Promise.GANG: "yes", Promise.QUEUES: "with limits"}, {Promise.MINIMUM: "refused"}
    )
    text = table([(backend, offer)], {"kai": Shown(["kai-scheduler v1"], 7, ["GANG"])})
    rows = dict(line.strip("| ").split(" | ") for line in text.splitlines()[2:])
    assert rows[Promise.GANG] == "**yes**"
    assert rows[Promise.QUEUES] == "yes: with limits"
    assert rows[Promise.MINIMUM] == "no: refused"
    assert rows[Promise.RESERVATION] == "no"
    assert (rows["was run with"], rows["real tests passed"]) == ("kai-scheduler v1", "7")
