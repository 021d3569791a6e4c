"""Properties of placement that hold for any gang."""

from grove_sandbox.schedulers.gangs import Gang, place
from grove_sandbox.schedulers.objects import SchedulerNode
from grove_sandbox.schedulers.snapshot import Snapshot, label_domains
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.sandbox.schedulers.builders import node, pod

NODES = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab")), min_size=1, max_size=5).map(
    lambda shapes: [node(f"n{i}", str(cpu), rack=rack) for i, (cpu, rack) in enumerate(shapes)]
)
LEAVES = st.lists(
    st.tuples(st.lists(st.integers(1, 3), max_size=4), st.integers(0, 4), st.booleans()),
    min_size=1,
    max_size=3,
)
RACK = "example.com/rack"


def leaves(shapes: list[tuple[list[int], int, bool]], nodes: list[SchedulerNode]) -> list[Gang]:
    return [
        Gang(
            f"g{i}",
            minimum,
            [pod(f"g{i}-{j}", "s", cpu=str(cpu)) for j, cpu in enumerate(cpus)],
            domains=label_domains(nodes, [RACK]) if on_one_rack else None,
        )
        for i, (cpus, minimum, on_one_rack) in enumerate(shapes)
    ]


def free(snapshot: Snapshot) -> dict[str, int]:
    return {name: found.free["cpu"] for name, found in snapshot.node_infos.items()}


@given(NODES, LEAVES)
def test_no_node_is_ever_overbooked(
    nodes: list[SchedulerNode], shapes: list[tuple[list[int], int, bool]]
) -> None:
    snapshot = Snapshot(nodes, [])
    for gang in leaves(shapes, nodes):
        place(snapshot, gang)
    assert min(free(snapshot).values()) >= 0


@given(NODES, LEAVES, st.booleans())
def test_a_tree_is_placed_to_its_minimums_or_not_at_all(
    nodes: list[SchedulerNode], shapes: list[tuple[list[int], int, bool]], on_one_rack: bool
) -> None:
    snapshot = Snapshot(nodes, [])
    before = free(snapshot)
    children = leaves(shapes, nodes)
    domains = label_domains(nodes, [RACK]) if on_one_rack else None
    outcome = place(snapshot, Gang("root", len(children), children=children, domains=domains))
    if not outcome.ok:
        assert outcome.placement == []
        assert free(snapshot) == before
        return
    where = {found.metadata.name: name for found, name in outcome.placement}
    for child in children:
        placed = [where[p.metadata.name] for p in child.pods if p.metadata.name in where]
        assert len(placed) >= child.minimum
        if child.domains is not None or on_one_rack:
            assert len({snapshot.node_infos[name].node.metadata.labels[RACK] for name in placed}) <= 1


@given(NODES, LEAVES)
def test_a_rolled_back_placement_leaves_no_trace(
    nodes: list[SchedulerNode], shapes: list[tuple[list[int], int, bool]]
) -> None:
    snapshot = Snapshot(nodes, [])
    before, mark = free(snapshot), snapshot.mark()
    for gang in leaves(shapes, nodes):
        place(snapshot, gang)
    snapshot.rollback(mark)
    assert free(snapshot) == before
    assert not any(found.pods for found in snapshot.node_infos.values())
