"""What the backends declare, compared with what real runs showed and with the generated page."""

from pathlib import Path

import pytest

from grove.generate.scheduler_table import PAGE, RecordedRun, page, results, table, variants
from grove.schedulers.backend import Backend
from grove.schedulers.guarantees import Guarantee, SchedulerVariant
from grove.schedulers.installed import built_in

ROOT = Path(__file__).parents[3]
VARIANTS = {variant.key: variant for _, variant in variants()}


def test_the_page_is_up_to_date() -> None:
    assert (ROOT / PAGE).read_text() == page(ROOT), "run `make docs`, and look at what changed"


@pytest.mark.parametrize("name", built_in())
def test_every_backend_declares_what_it_guarantees(name: str) -> None:
    backend: Backend = built_in()[name]({})
    assert backend.variants
    for variant in backend.variants:
        assert not variant.given.keys() & variant.otherwise.keys(), "it is either given or not"


@pytest.mark.parametrize("key", VARIANTS)
def test_every_guarantee_was_shown_by_a_real_run(key: str) -> None:
    """`make e2e RECORD=1` records a run."""
    run = results(ROOT).get(key)
    assert run is not None, "there is no recorded run"
    assert {g.name for g in VARIANTS[key].given} <= set(run.guarantees), "a guarantee without a test"
    assert run.versions


def test_a_guarantee_is_bold_when_it_was_shown() -> None:
    backend = built_in()["kai"]({})
    variant = SchedulerVariant(
        "kai",
        "KAI",
        {Guarantee.ALL_OR_NOTHING: "yes", Guarantee.QUEUES: "with limits"},
        {Guarantee.MINIMUM_BELOW_REPLICAS: "refused"},
    )
    text = table([(backend, variant)], {"kai": RecordedRun(["kai-scheduler v1"], 7, ["ALL_OR_NOTHING"])})
    rows = dict(line.strip("| ").split(" | ") for line in text.splitlines()[2:])
    assert rows[Guarantee.ALL_OR_NOTHING] == "**yes**"
    assert rows[Guarantee.QUEUES] == "yes: with limits"
    assert rows[Guarantee.MINIMUM_BELOW_REPLICAS] == "no: refused"
    assert rows[Guarantee.RESERVATION_REUSE] == "no"
    assert (rows["was run with"], rows["real tests passed"]) == ("kai-scheduler v1", "7")
