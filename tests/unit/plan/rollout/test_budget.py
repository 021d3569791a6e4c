"""Which units an update replaces next: the formula, and what holds at every step of any update."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.plan.rollout.budget import Budget, Unit, UnitPlan, plan_units


@pytest.mark.parametrize(
    ("desired", "minimum", "max_unavailable", "floor"),
    [
        (4, 2, 1, 3),
        (4, 2, 2, 2),
        (4, 2, 3, 2),  # the minimum holds where it can be held
        (4, 3, 4, 3),
        (4, 4, 1, 3),  # every unit is needed: the budget alone decides
        (4, 4, 3, 1),
        (1, 1, 1, 0),
        (2, 2, 5, 0),
        (3, 5, 1, 2),  # scaled below the minimum
        (0, 1, 1, 0),
    ],
)
def test_the_floor(desired: int, minimum: int, max_unavailable: int, floor: int) -> None:
    assert Budget(desired, minimum, max_unavailable).floor == floor


def units(text: str) -> list[Unit[int]]:
    """`O` and `o` are outdated, `N` and `n` are new; capitals are healthy."""
    return [Unit(k, c in "Oo", c.isupper()) for k, c in enumerate(text)]


@pytest.mark.parametrize(
    ("text", "budget", "broken", "chosen"),
    [
        ("OOO", Budget(3, 2), [], [0]),
        ("NOO", Budget(3, 2), [], [1]),
        ("nOO", Budget(3, 2), [], []),  # the first replacement is not ready yet
        ("OO", Budget(3, 2), [], []),  # its replacement does not even exist yet
        ("oOO", Budget(3, 2), [0], []),  # a broken one costs nothing, and leaves nothing for a healthy one
        ("ooo", Budget(3, 3), [0, 1, 2], []),  # an update mends a set that is broken altogether
        ("oooO", Budget(4, 2), [0, 1, 2], []),
        ("OOOO", Budget(4, 2, 2), [], [0, 1]),
        ("OOOO", Budget(4, 3, 3), [], [0]),
        ("NNN", Budget(3, 2), [], []),
        ("nnn", Budget(3, 2), [], []),  # new units that do not start are not replaced again
        ("O", Budget(1, 1), [], [0]),
    ],
)
def test_what_is_replaced_next(text: str, budget: Budget, broken: list[int], chosen: list[int]) -> None:
    plan = plan_units(units(text), budget, may_take_healthy=True)
    assert (plan.broken, list(plan.chosen)) == (broken, chosen)
    assert plan.replaced == [*broken, *chosen]


def test_outside_the_current_replica_only_broken_units_are_replaced() -> None:
    assert plan_units(units("oOOO"), Budget(4, 1, 4), may_take_healthy=False) == UnitPlan([0])


@dataclass
class Model:
    """The units of a clique, each with the template that it was made from."""

    budget: Budget
    healthy: list[bool]
    template: list[int]
    wanted: int = 1

    def plan(self) -> UnitPlan[int]:
        found = [
            Unit(k, t != self.wanted, h)
            for k, (t, h) in enumerate(zip(self.template, self.healthy, strict=True))
        ]
        return plan_units(found, self.budget, may_take_healthy=True)

    def replace(self, k: int) -> None:
        self.healthy[k], self.template[k] = False, self.wanted


@settings(deadline=None)
@given(st.data())
def test_any_update_keeps_the_floor_touches_each_unit_once_per_template_and_ends(data: st.DataObject) -> None:
    desired = data.draw(st.integers(1, 6), "desired")
    budget = Budget(desired, data.draw(st.integers(1, desired)), data.draw(st.integers(1, desired + 1)))
    model = Model(
        budget, data.draw(st.lists(st.booleans(), min_size=desired, max_size=desired)), [0] * desired
    )
    touched: set[tuple[int, int]] = set()
    for _ in range(data.draw(st.integers(0, 30))):
        match data.draw(st.sampled_from(("operator", "ready", "lost", "change", "back"))):
            case "operator":
                _step(model, touched)
            case "ready":
                model.healthy[data.draw(st.integers(0, desired - 1))] = True
            case "lost":
                model.healthy[data.draw(st.integers(0, desired - 1))] = False
            case "change":
                model.wanted = max(model.wanted, *model.template) + 1
                touched.clear()
            case _:
                model.wanted = 0
                touched.clear()
    for _ in range(2 * desired + 2):
        model.healthy = [True] * desired
        _step(model, touched)
    model.healthy = [True] * desired
    assert set(model.template) == {model.wanted}
    assert model.plan() == UnitPlan([], [])


def _step(model: Model, touched: set[tuple[int, int]]) -> None:
    before, plan = sum(model.healthy), model.plan()
    for k in plan.replaced:
        assert model.template[k] != model.wanted
        assert (k, model.wanted) not in touched
        touched.add((k, model.wanted))
        model.replace(k)
    assert sum(model.healthy) >= min(before, model.budget.floor)
    assert all(not model.healthy[k] for k in plan.broken)
