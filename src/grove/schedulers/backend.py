"""The contract of a scheduler backend.

A backend translates. Given a PodGang it returns the objects that its scheduler needs; given a draft of a pod it adds
what ties the pod to those objects. The framework does the rest: it creates, updates and prunes the objects, restores
them when somebody edits or deletes them, retries, and reports on the PodGang. So a new scheduler is one module.

`translate` and `prepare_pod` are abstract. Every other method and attribute has a default that is right for a scheduler
without that feature; override what your scheduler needs.

Rules for all methods:

- Pure: no I/O, no clock, no randomness, no state between calls. The same arguments give the same result. Only `init`
  is different.
- They run synchronously on the operator's event loop, often once per gang or pod, so they must be fast.
- Arguments are shared with caches: do not change them. The exception is the `PodDraft`, which is there to be changed.
- Return fresh values: the framework may change or keep what it gets.

If the profile has `separate: true`, a process of the backend's own watches `kinds` and `reads`, runs the probes, and
calls `dialect`, `translate`, `shortfall` and `observe`. The operator calls all other methods on an instance of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from grove.api.pod_view import Pod
from grove.api.podcliqueset import Clique, PodCliqueSet
from grove.api.podgang import PodGang, PodGroup
from grove.api.topology import ClusterTopologyBinding
from grove.api.validation import Problem
from grove.plan.objects.pod_draft import PodDraft
from grove.schedulers.guarantees import SchedulerVariant
from grove.schedulers.types import Json, ObjectKind, Observation, Probe, SchedulerObject, Served


class Backend(ABC):
    """Translates gangs for one scheduler. An instance serves one profile of the operator's configuration.

    The factory in the entry point gets the profile's settings, a dict, and raises msgspec.ValidationError for settings
    that it does not accept.
    """

    # --- identity ---

    name: str
    """The value of the label `grove.io/scheduler-backend` on gangs, a DNS label."""

    scheduler_name: str
    """The `spec.schedulerName` of pods whose template names none."""

    gate: str
    """The scheduling gate that holds the pods of this backend, such as `example.com/gang`. No other backend has it."""

    variants: Sequence[SchedulerVariant] = ()
    """What the scheduler guarantees, for people who choose one: an entry for each variant of it, the best first.

    The table in docs/choosing-a-scheduler.md is generated from it. Default: nothing is declared.
    """

    def matches(self, scheduler_name: str) -> bool:
        """Whether this backend serves pods with this schedulerName.

        Called to select the backend of a set, and before `init` for a profile whose name is no backend's
        `scheduler_name`. Default: only `self.scheduler_name`.
        """
        return scheduler_name == self.scheduler_name

    def init(self) -> None:  # noqa: B027
        """Prepares the backend. Raise Refusal, with what is wrong and what to do, if it cannot work here.

        Called once, when the operator or the backend's own process starts and whenever its configuration has changed,
        before any other method but `matches`. It may read files; it must not wait for the network, since everything
        waits for it. A backend that refuses, or fails, is not used: its sets and gangs say why, the log and a metric
        name the package, and other backends work. Default: nothing.
        """

    # --- what the cluster serves ---

    kinds: Sequence[ObjectKind]
    """The kinds that `translate` may return, in the order in which they are created. They are deleted in reverse order.

    The framework watches them all. A cluster need not serve them all: `translate` gets the kinds that it serves. If
    `translate` returns an object whose kind is not served, the gang reports that the scheduler is not installed.
    """

    reads: Sequence[ObjectKind] = ()
    """Kinds that `translate` looks up by name in `served.objects`, such as queues.

    They are cluster-scoped, or their names are unique in the cluster. The framework watches them and translates every
    gang again when such an object is created or deleted or its spec changes; changes of its status have no effect.
    Default: none.
    """

    probes: Sequence[Probe] = ()
    """Fields about which only a dry run can tell whether the server keeps them.

    The framework runs the probes when it starts, when a kind becomes served, and every few minutes, because clusters
    are upgraded. Default: none.
    """

    def detected_variant(self, served: Served) -> SchedulerVariant | None:
        """The entry of `variants` that this cluster has, and that new gangs get.

        Called when the discovery has a new result, to log it. Default: None, nothing is logged.
        """
        return None

    # --- objects and pods ---

    @abstractmethod
    def translate(self, gang: PodGang, served: Served) -> Sequence[SchedulerObject]:
        """The objects that this gang needs; none if its pods tell the scheduler all.

        The podgang controller calls it in every reconcile of the gang, and applies the difference to the cluster. The
        result must depend on nothing but the arguments and the settings; of the gang's status only on the conditions
        Initialized and SchedulerDialect.

        Raise Refusal for a gang that this scheduler cannot serve. Any other exception counts as a defect of the
        backend. Both are reported on this gang and affect no other.
        """

    @abstractmethod
    def prepare_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:
        """Adds to the draft what ties a pod of this group to the gang: labels, annotations, fields of the spec.

        The podclique controller calls it before it creates pods, and creates any number of pods of the group from one
        draft. Keep what the draft already has. May raise Refusal: then no pods are created, and the clique reports why.
        """

    def broken_link(self, gang: PodGang, group: PodGroup, pod: Pod) -> str:
        """Why the scheduler would not treat this existing pod as part of its gang, and what to do; empty if it would.

        The podclique controller calls it before it removes a pod's gate. API servers silently drop fields of features
        that are switched off, and admission webhooks change labels. Such a pod keeps its gate and is recreated later.
        Default: empty, every pod is linked.
        """
        return ""

    def separates_surplus(self, gang: PodGang, group: PodGroup) -> bool:
        """Whether the group's pods beyond its minimum, those with the highest indices, stay out of the gang.

        If True, `prepare_surplus_pod` prepares them, their gates open only when the gang is scheduled, so that they
        take no room from it, and they are deleted first when the group shrinks. Default: False.
        """
        return False

    def prepare_surplus_pod(self, gang: PodGang, group: PodGroup, pod: PodDraft) -> None:  # noqa: B027
        """As `prepare_pod`, for the pods that `separates_surplus` keeps out of the gang.

        Default: adds nothing, so that the scheduler places each on its own.
        """

    # --- what the user asks for ---

    def validate(self, pcs: PodCliqueSet) -> Iterable[Problem]:
        """What is wrong with a set for this scheduler; warnings for what will have no effect.

        Called for each new version of a set, before any object is created for it, and by `grove render`. The set is
        valid otherwise. Errors stop the set, warnings become an event. Default: none.
        """
        return ()

    def gang_annotations(self, pcs: PodCliqueSet, members: Sequence[Clique]) -> Mapping[str, str]:
        """Annotations for a gang of this set: what the backend needs to know of the set and the gang does not say.

        `members` are the cliques of the gang's groups, in their order. Called whenever the operator plans the gangs of
        a set. Always return the same keys: a key that is missing later stays on the gang with its old value.
        Default: none.
        """
        return {}

    def claim_labels(self, pcs: PodCliqueSet) -> Mapping[str, str]:
        """Labels for the ResourceClaims that pods of this set share, if the scheduler needs any to let pods use them.

        Called whenever the operator plans such claims. Default: none.
        """
        return {}

    def default_priority_class(self, members: Sequence[Clique]) -> str | None:
        """The priority class of a gang whose set names none; `members` as for `gang_annotations`.

        For a scheduler that wants one priority for all pods of a gang. Default: None, pods keep their own.
        """
        return None

    pins_priority: bool = False
    """Whether a gang keeps its first priority class as long as it exists.

    For a scheduler that has the priority in pods or in immutable fields. Default: a new class of the set reaches the
    existing gangs.
    """

    # --- guarantees ---

    def shortfall(self, gang: PodGang, served: Served) -> str:
        """What the gang asks for and this cluster cannot guarantee, in one sentence; empty if it guarantees everything.

        Called after `translate`. The gang reports it in its condition BackendSynced; if the profile or the set is
        strict, the gang is refused instead. Default: empty.
        """
        return ""

    strict: bool = False
    """Whether gangs with a shortfall are refused. The annotation `grove.io/gang-guarantee` of a set overrides it."""

    # --- status ---

    def observe(self, gang: PodGang, objects: Sequence[Json]) -> Observation | None:
        """What the scheduler reports about the gang in its own objects.

        `objects` are those of the gang in `kinds`, as they are in the cluster. Called when the podgang controller
        writes the gang's status. Default: None, which means that this scheduler reports nothing there; the framework
        then reads the PodScheduled conditions of the gang's pods.
        """
        return None

    # --- topology ---

    topology_kind: ObjectKind | None = None
    """The cluster-scoped kind of what `topology_object` returns. Default: None, the backend writes no topologies."""

    def topology_object(self, binding: ClusterTopologyBinding) -> SchedulerObject:
        """The scheduler's own object for a cluster topology.

        The topology controller calls it for each ClusterTopologyBinding, but never if `topology_kind` is None.
        """
        raise NotImplementedError(f"{type(self).__name__} has a topology_kind and no topology_object")

    # --- dialects: schedulers whose API differs between clusters, or that need a new attempt after giving up ---

    has_dialects: bool = False
    """Whether `dialect` returns dialects. If so, pods are created only when the gang's dialect is known, and released
    only when it is recorded. Must not depend on the cluster."""

    def dialect(self, gang: PodGang, pods: Sequence[Pod], served: Served) -> str:
        """In which of its scheduler's APIs this gang is written, as one CamelCase word.

        Called in every reconcile of a gang, if `has_dialects` is True, also when the gang has a dialect already:
        `pods` are the gang's existing pods, which are tied to the recorded one, so keep it while it works. The
        framework records the answer as the reason of the gang's condition SchedulerDialect. `translate` and
        `prepare_pod` read it there with `dialect_of`, so that they agree even if they run in different processes. May
        raise Refusal.
        """
        return ""

    depends_on_gates: bool = False
    """Whether `dialect` or `translate` depend on which pods still have their gates.

    Default: False, and a pod that only loses its gate does not trigger a reconcile of its gang.
    """

    def needs_new_dialect(self, gang: PodGang, pod: Pod) -> bool:
        """Whether this pod shows that the scheduler gave the gang up, so that its pods need a new dialect.

        The podclique controller calls it for each pod of a clique. While it is True for one, the controller
        creates, deletes and releases no pods of the clique: the pod stays as evidence until `dialect` has seen it.
        Default: False.
        """
        return False

    def is_outdated(self, gang: PodGang, pod: Pod) -> bool:
        """Whether this pod belongs to an earlier dialect, so that the scheduler will never place it.

        The podclique controller calls it for each pod of a clique, and deletes and recreates such pods. Default: False.
        """
        return False

    creates_stand_ins: bool = False
    """Whether the scheduler creates placeholder pods, with the label `grove.io/stand-in-for: <gang>`.

    If True, the operator watches them, passes them to `dialect` and `has_begun` beside the gang's own pods, and reports
    on the gang what the scheduler reports on them. Default: False.
    """

    # --- release: removing the gates ---

    def release_annotations(self, gang: PodGang, waited_seconds: float) -> Mapping[str, str]:
        """Annotations that a pod gets in the same patch that removes its gate.

        `waited_seconds` is the age of the pod. `prepare_pod` must have set the same keys. Default: none.
        """
        return {}

    def release_pause_seconds(self, gang: PodGang) -> float:
        """The minimum pause between the moment when the previous gang has begun and the release of this one.

        For a scheduler that mixes up gangs whose pods arrive at the same moment. Called while pods of the gang have
        gates to open. Default: 0, the gang is released at once.
        """
        return 0.0

    def has_begun(self, gang: PodGang, pods: Sequence[Pod]) -> bool:
        """Whether the scheduler has visibly begun to place a released gang, so that the pause can start.

        `pods` are those of the gang and its stand-ins. Called only for gangs with a pause. A gang that does not begin
        delays the others for a limited time only. Default: True.
        """
        return True
