"""The reasons why a set, gang, clique or pod runs or does not run, for `grove explain` and the condition Running.

A pod passes through the steps below, and at each of them somebody must act. A reason has the step that is not passed
yet, who must act next, what it means and what a user can do. docs/troubleshooting.md has a section for each reason.
"""

import enum


class Step(enum.StrEnum):
    """The steps from a PodCliqueSet to ready pods, in order."""

    VALIDATED = "validated"
    MADE = "gangs and cliques made"
    SYNCED = "backend in sync"
    CREATED = "pods created"
    INITIALIZED = "initialized"
    UNGATED = "gates opened"
    SCHEDULED = "scheduled"
    STARTED = "started"
    READY = "ready"


class Actor(enum.StrEnum):
    """Who must act next."""

    YOU = "you"
    GROVE = "Grove"
    BACKEND = "the scheduler backend"
    SCHEDULER = "the scheduler"
    KUBELET = "the kubelet"
    NOBODY = "nobody"


class Weight(enum.IntEnum):
    """Which of several reasons is reported first: the highest, so that a cause comes before its consequences."""

    NOTE = 0
    """Does not keep anything from running."""
    FINE = 1
    """Everything that the spec asks for runs, or has finished."""
    BEHIND = 2
    """Waits for another part of the set, which has its own reason."""
    PASSING = 3
    """Passes without help, as soon as the next actor has acted."""
    STUCK = 4
    """Stays until somebody intervenes."""


class RunReason(enum.StrEnum):
    """The value is the code for scripts and conditions; it never changes."""

    weight: Weight
    step: Step
    actor: Actor
    meaning: str
    remedy: str

    def __new__(
        cls, code: str, weight: Weight, step: Step, actor: Actor, meaning: str, remedy: str
    ) -> "RunReason":
        self = str.__new__(cls, code)
        self._value_ = code
        self.weight, self.step, self.actor = weight, step, actor
        self.meaning, self.remedy = meaning, remedy
        return self

    TERMINATING = (
        "Terminating",
        Weight.STUCK,
        Step.VALIDATED,
        Actor.GROVE,
        "It is being deleted, and ends when its pods are gone.",
        "Wait. If it stays, find out what holds its pods: an unreachable node, or a finalizer.",
    )
    INVALID_SET = (
        "InvalidSet",
        Weight.STUCK,
        Step.VALIDATED,
        Actor.YOU,
        "The set is not valid. Grove ignores this version of it; what ran before keeps running.",
        "Correct the fields in the message. `grove validate -f FILE` checks a file before you apply it.",
    )
    NOT_SEEN_YET = (
        "NotSeenYet",
        Weight.PASSING,
        Step.VALIDATED,
        Actor.GROVE,
        "The operator has not reconciled this version of the set yet.",
        "Wait a moment. If it stays, check that the operator runs and may read this namespace.",
    )
    PARTS_REFUSED_BY_SERVER = (
        "PartsRefusedByServer",
        Weight.STUCK,
        Step.MADE,
        Actor.YOU,
        "The API server refused an object of the set: a clique, a gang, a Service, a claim.",
        "Read its message: a quota, a missing permission of the operator, a name conflict? Grove retries.",
    )
    WAITING_FOR_PARTS = (
        "WaitingForParts",
        Weight.PASSING,
        Step.MADE,
        Actor.GROVE,
        "Cliques, groups or gangs of the set do not exist yet.",
        "Wait a moment. If it stays, check that the operator runs.",
    )
    TOPOLOGY_IGNORED = (
        "TopologyIgnored",
        Weight.NOTE,
        Step.MADE,
        Actor.YOU,
        "The topology constraints of the set have no effect in this cluster.",
        "Create the ClusterTopologyBinding with these levels, enable topology, or remove the constraints.",
    )
    SEVERAL_BACKENDS_MATCH = (
        "SeveralBackendsMatch",
        Weight.NOTE,
        Step.MADE,
        Actor.YOU,
        "Several scheduler backends serve the schedulerName of this set; the first profile wins.",
        "To choose another, name it in the annotation grove.io/scheduler-backend of the set.",
    )
    SCHEDULER_NOT_INSTALLED = (
        "SchedulerNotInstalled",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The cluster does not serve the kinds that the scheduler of this gang reads.",
        "Install it with its CRDs, or choose another by schedulerName or the annotation grove.io/scheduler-backend.",
    )
    BACKEND_NOT_ENABLED = (
        "BackendNotEnabled",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The operator's configuration does not enable the backend that the gang was made for.",
        "Enable its profile again (scheduler.profiles), or delete the set and create it for another scheduler.",
    )
    QUEUE_MISSING = (
        "QueueMissing",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The queue of the gang does not exist, or does not accept it.",
        "Create the queue, or name another one on the set. The gang then continues.",
    )
    REFUSED_BY_BACKEND = (
        "RefusedByBackend",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The scheduler backend cannot give this gang everything that it asks for, and refuses it.",
        "Change the set as the message says, or choose another scheduler.",
    )
    BACKEND_FAILED = (
        "BackendFailed",
        Weight.STUCK,
        Step.SYNCED,
        Actor.BACKEND,
        "The scheduler backend could not write the scheduler's objects, or has a bug.",
        "Read the message: a missing permission, a webhook, a failing server? The backend retries.",
    )
    WAITING_FOR_BACKEND = (
        "WaitingForBackend",
        Weight.PASSING,
        Step.SYNCED,
        Actor.BACKEND,
        "The scheduler backend has not confirmed this version of the gang yet.",
        "Wait a moment. If it stays, check that the backend is enabled, or that its own deployment runs.",
    )
    WEAKER_THAN_ASKED = (
        "WeakerThanAsked",
        Weight.NOTE,
        Step.SYNCED,
        Actor.YOU,
        "The scheduler has the gang, but this cluster cannot promise everything that it asks for.",
        "Accept it, use a scheduler that can, or have such gangs refused: annotation grove.io/gang-guarantee: strict.",
    )
    PODS_REFUSED_BY_SERVER = (
        "PodsRefusedByServer",
        Weight.STUCK,
        Step.CREATED,
        Actor.YOU,
        "The API server refuses to create the pods. The whole gang waits.",
        "Read its message: the podSpec, a quota, a policy, a webhook? Grove retries.",
    )
    PODS_NOT_DELETED = (
        "PodsNotDeleted",
        Weight.STUCK,
        Step.CREATED,
        Actor.YOU,
        "The API server refuses to delete pods that are surplus or must be replaced.",
        "Read its message: a policy, a webhook, a missing permission of the operator? Grove retries.",
    )
    WAITING_FOR_PODS = (
        "WaitingForPods",
        Weight.PASSING,
        Step.CREATED,
        Actor.GROVE,
        "Not all pods of the clique exist yet.",
        "Wait a moment. If it stays, check that the operator runs.",
    )
    WAITING_FOR_INITIALIZATION = (
        "WaitingForInitialization",
        Weight.BEHIND,
        Step.INITIALIZED,
        Actor.GROVE,
        "The pods keep their gates until every pod of the gang exists and the PodGang lists them all.",
        "Look at the cliques of the gang that lack pods.",
    )
    WRONG_SCHEDULER = (
        "WrongScheduler",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "Pods were created for another scheduler than the one that the gang has now.",
        "Delete these pods: Grove recreates them for the right one. Or change the scheduler of the set back.",
    )
    POD_LINK_DROPPED = (
        "PodLinkDropped",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "The API server dropped the field that links the pods to their gang, so Grove keeps their gates.",
        "Enable the feature gate in the message, or remove the webhook that changes the pods.",
    )
    HELD_BY_OTHER_GATE = (
        "HeldByOtherGate",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "Pods, and so their gang, wait for a scheduling gate that is not Grove's.",
        "Find out who set that gate: a quota manager, a policy, or the podSpec itself.",
    )
    GATES_NOT_OPENED = (
        "GatesNotOpened",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "The gang is ready to be released, but the API server refuses to remove the gates.",
        "Read its message: a policy, a webhook, a missing permission of the operator? Grove retries.",
    )
    WAITING_FOR_BASE_GANG = (
        "WaitingForBaseGang",
        Weight.BEHIND,
        Step.UNGATED,
        Actor.SCHEDULER,
        "A copy of a scaling group beyond its minimum waits until the base gang is scheduled.",
        "Look at the base gang.",
    )
    WAITING_FOR_MINIMUM = (
        "WaitingForMinimum",
        Weight.BEHIND,
        Step.UNGATED,
        Actor.SCHEDULER,
        "Pods beyond the minimum of their clique wait until the gang is scheduled, to leave it the room.",
        "Look at the pods of the gang's minimum.",
    )
    WAITING_FOR_GATES = (
        "WaitingForGates",
        Weight.PASSING,
        Step.UNGATED,
        Actor.GROVE,
        "The gang is ready to be released, and Grove is about to remove the gates.",
        "Wait a moment. If it stays, check that the operator runs.",
    )
    UNSCHEDULABLE = (
        "Unschedulable",
        Weight.STUCK,
        Step.SCHEDULED,
        Actor.SCHEDULER,
        "The scheduler found no room for the pods.",
        "Free resources, add nodes, or ask for less: resources, minAvailable, selectors, topology constraints.",
    )
    DISRUPTED = (
        "Disrupted",
        Weight.PASSING,
        Step.SCHEDULED,
        Actor.GROVE,
        "Pods are being preempted, evicted or drained. Grove replaces them.",
        "If it happens repeatedly, raise the priority of the set or give it nodes of its own.",
    )
    WAITING_FOR_SCHEDULER = (
        "WaitingForScheduler",
        Weight.PASSING,
        Step.SCHEDULED,
        Actor.SCHEDULER,
        "The gates are removed, and the scheduler has not reported anything about the pods yet.",
        "Wait a moment. If it stays, check that a scheduler of this name runs.",
    )
    IMAGE_PULL_FAILING = (
        "ImagePullFailing",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "A node cannot pull an image.",
        "Check the image's name and tag, the registry, and imagePullSecrets. The kubelet retries.",
    )
    CANNOT_START = (
        "CannotStart",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "A container cannot be created: a ConfigMap, Secret, volume or device is missing, or the command is wrong.",
        "Create what is missing, or correct the podSpec. The kubelet retries.",
    )
    CRASH_LOOPING = (
        "CrashLooping",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "A container exits with an error, again and again.",
        "Read its log: kubectl logs POD --previous.",
    )
    PODS_FAILED = (
        "PodsFailed",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "Pods failed or were evicted. Grove replaces them, with a growing backoff.",
        "Read the pod's reason and log. Grove replaces it within five minutes.",
    )
    WAITING_FOR_START_ORDER = (
        "WaitingForStartOrder",
        Weight.BEHIND,
        Step.STARTED,
        Actor.KUBELET,
        "The pods have nodes and wait for the cliques that start before them.",
        "Look at those cliques.",
    )
    STARTING = (
        "Starting",
        Weight.PASSING,
        Step.STARTED,
        Actor.KUBELET,
        "The pods have nodes, and their containers are starting.",
        "Wait. If it stays, look at the events of the pod and at its node.",
    )
    NOT_READY = (
        "NotReady",
        Weight.STUCK,
        Step.READY,
        Actor.YOU,
        "The containers run and are not ready.",
        "Wait if they are loading. Otherwise read their log, and check the readiness probe.",
    )
    RUNNING = (
        "Running",
        Weight.FINE,
        Step.READY,
        Actor.NOBODY,
        "Every pod that the spec asks for is ready.",
        "Nothing to do.",
    )
    FINISHED = (
        "Finished",
        Weight.FINE,
        Step.READY,
        Actor.NOBODY,
        "All pods finished, and their restart policy lets them end.",
        "Nothing to do. Delete the set when you no longer need it.",
    )
    SCALED_TO_ZERO = (
        "ScaledToZero",
        Weight.FINE,
        Step.READY,
        Actor.NOBODY,
        "The set, or each of its cliques and scaling groups, is scaled to zero.",
        "Nothing to do. To run it: kubectl scale pcs NAME --replicas=1, or the same with pclq and pcsg for its parts.",
    )

    @property
    def fine(self) -> bool:
        """Whether everything that the spec asks for runs."""
        return self.weight <= Weight.FINE
