"""Why something runs or does not: a fixed vocabulary, used by `grove explain` and in conditions.

A pod comes to life in steps, and at each of them somebody must act. A reason names the step that is not passed yet, who
acts next, what that means and what a user can do. docs/troubleshooting.md has a section for each.
"""

import enum


class Step(enum.StrEnum):
    """The steps of the flow, in order."""

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
    """Which of several reasons is told first: the cause before what follows from it."""

    NOTE = 0
    """Keeps nothing from running, and is worth knowing."""
    FINE = 1
    BEHIND = 2
    """Waits for another part of the set, which has a reason of its own."""
    PASSING = 3
    """Passes by itself, if whoever acts next does."""
    STUCK = 4
    """Stays as it is until somebody helps."""


class RunReason(enum.StrEnum):
    """The value is the code, for scripts and conditions."""

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
        "It is being deleted, and goes when its pods have gone.",
        "Wait. If it stays, look at what holds its pods: a node that does not answer, or a finalizer.",
    )
    INVALID_SET = (
        "InvalidSet",
        Weight.STUCK,
        Step.VALIDATED,
        Actor.YOU,
        "The set breaks a rule. Nothing is made of this version; what ran before goes on running.",
        "Correct the fields that are named. `grove validate -f FILE` checks the file before it is applied.",
    )
    NOT_SEEN_YET = (
        "NotSeenYet",
        Weight.PASSING,
        Step.VALIDATED,
        Actor.GROVE,
        "The operator has not acted on this version of the set yet.",
        "Wait a moment. If it stays, check that the operator runs and that it may read this namespace.",
    )
    PARTS_REFUSED_BY_SERVER = (
        "PartsRefusedByServer",
        Weight.STUCK,
        Step.MADE,
        Actor.YOU,
        "The API server refused something that the set consists of: a clique, a gang, a Service, a claim.",
        "Read what it said: a quota, a missing right of the operator, a name that is taken? Grove tries again.",
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
        "Topology constraints of the set have no effect in this cluster.",
        "Create the ClusterTopologyBinding with these levels, switch topology on, or drop the constraints.",
    )
    SEVERAL_BACKENDS_MATCH = (
        "SeveralBackendsMatch",
        Weight.NOTE,
        Step.MADE,
        Actor.YOU,
        "Several scheduler backends serve the schedulerName of this set; the first profile wins.",
        "If that is not the one you want, name another in the annotation grove.io/scheduler-backend of the set.",
    )
    SCHEDULER_NOT_INSTALLED = (
        "SchedulerNotInstalled",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The cluster does not serve the kinds that the scheduler of this gang reads.",
        "Install it with its CRDs, or choose another by schedulerName or the annotation grove.io/scheduler-backend.",
    )
    QUEUE_MISSING = (
        "QueueMissing",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The queue that the gang is for does not exist, or is not open to it.",
        "Create the queue, or name another one on the set. The gang goes on by itself.",
    )
    REFUSED_BY_BACKEND = (
        "RefusedByBackend",
        Weight.STUCK,
        Step.SYNCED,
        Actor.YOU,
        "The scheduler backend cannot give this gang what it asks for, and refuses it rather than give less.",
        "Change the set as the message says, or choose another scheduler.",
    )
    BACKEND_FAILED = (
        "BackendFailed",
        Weight.STUCK,
        Step.SYNCED,
        Actor.BACKEND,
        "The scheduler backend could not write the scheduler's objects, or has a defect.",
        "Read the message: a missing right, a webhook, a server that fails? The backend tries again.",
    )
    WAITING_FOR_BACKEND = (
        "WaitingForBackend",
        Weight.PASSING,
        Step.SYNCED,
        Actor.BACKEND,
        "The scheduler backend has not said yet that the scheduler knows this version of the gang.",
        "Wait a moment. If it stays, check that the backend is enabled, or that its own deployment runs.",
    )
    WEAKER_THAN_ASKED = (
        "WeakerThanAsked",
        Weight.NOTE,
        Step.SYNCED,
        Actor.YOU,
        "The gang is handed to the scheduler, but this cluster cannot promise all that it asks for.",
        "Accept it, use a scheduler that can, or make it wait: annotation grove.io/gang-guarantee: strict.",
    )
    PODS_REFUSED_BY_SERVER = (
        "PodsRefusedByServer",
        Weight.STUCK,
        Step.CREATED,
        Actor.YOU,
        "The API server refuses the pods. The whole gang waits.",
        "Read what it said: the podSpec, a quota, a policy, a webhook? Grove tries again by itself.",
    )
    PODS_NOT_DELETED = (
        "PodsNotDeleted",
        Weight.STUCK,
        Step.CREATED,
        Actor.YOU,
        "The API server refuses to delete pods that are to go, or to be replaced.",
        "Read what it said: a policy, a webhook, a missing right of the operator? Grove tries again by itself.",
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
        "The pods stay behind their gates until every pod of the gang exists and the gang names them all.",
        "Look at the cliques of the gang that lack pods.",
    )
    WRONG_SCHEDULER = (
        "WrongScheduler",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "Pods were made for another scheduler than the one that the gang is for now.",
        "Delete these pods: they are made anew for the right one. Or change the scheduler of the set back.",
    )
    POD_LINK_DROPPED = (
        "PodLinkDropped",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "The API server took away what ties the pods to their gang, so their gates stay closed.",
        "Switch on the feature that the message names, or remove the webhook that changes the pods.",
    )
    HELD_BY_OTHER_GATE = (
        "HeldByOtherGate",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "Pods are held by a scheduling gate that is not Grove's, and so is their gang.",
        "See to whoever put that gate there: a quota manager, a policy, or the podSpec itself.",
    )
    GATES_NOT_OPENED = (
        "GatesNotOpened",
        Weight.STUCK,
        Step.UNGATED,
        Actor.YOU,
        "The pods may go, and the API server refuses to let Grove remove their gates.",
        "Read what it said: a policy, a webhook, a missing right of the operator? Grove tries again by itself.",
    )
    WAITING_FOR_BASE_GANG = (
        "WaitingForBaseGang",
        Weight.BEHIND,
        Step.UNGATED,
        Actor.SCHEDULER,
        "A copy of a scaling group beyond its minimum waits until the base gang has its place.",
        "Look at the base gang.",
    )
    WAITING_FOR_MINIMUM = (
        "WaitingForMinimum",
        Weight.BEHIND,
        Step.UNGATED,
        Actor.SCHEDULER,
        "Pods beyond the minimum of their clique wait until the gang has its place, to take no room from it.",
        "Look at the pods of the gang's minimum.",
    )
    WAITING_FOR_GATES = (
        "WaitingForGates",
        Weight.PASSING,
        Step.UNGATED,
        Actor.GROVE,
        "Everything is in place and the gates are about to be opened.",
        "Wait a moment. If it stays, check that the operator runs.",
    )
    UNSCHEDULABLE = (
        "Unschedulable",
        Weight.STUCK,
        Step.SCHEDULED,
        Actor.SCHEDULER,
        "The scheduler looked, and found no place for the pods.",
        "Make room, add nodes, or ask for less: resources, minAvailable, selectors, topology constraints.",
    )
    DISRUPTED = (
        "Disrupted",
        Weight.PASSING,
        Step.SCHEDULED,
        Actor.GROVE,
        "Pods are taken away from their nodes: preempted, evicted or drained. They are replaced.",
        "If it happens again and again, raise the priority of the set or give it room of its own.",
    )
    WAITING_FOR_SCHEDULER = (
        "WaitingForScheduler",
        Weight.PASSING,
        Step.SCHEDULED,
        Actor.SCHEDULER,
        "The gates are open and the scheduler has not said anything about the pods yet.",
        "Wait a moment. If it stays, check that a scheduler of that name runs.",
    )
    IMAGE_PULL_FAILING = (
        "ImagePullFailing",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "A node cannot pull an image.",
        "Check the image's name and tag, the registry, and imagePullSecrets. The kubelet tries again by itself.",
    )
    CANNOT_START = (
        "CannotStart",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "A container cannot be created: a ConfigMap, Secret, volume or device is missing, or the command is wrong.",
        "Create what is missing or correct the podSpec. The kubelet tries again by itself.",
    )
    CRASH_LOOPING = (
        "CrashLooping",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "A container ends with an error and is started again and again.",
        "Read its log: kubectl logs POD --previous.",
    )
    PODS_FAILED = (
        "PodsFailed",
        Weight.STUCK,
        Step.STARTED,
        Actor.YOU,
        "Pods failed or were evicted. Grove replaces them, and waits longer each time.",
        "Read the pod's reason and log. The next replacement comes within five minutes.",
    )
    WAITING_FOR_START_ORDER = (
        "WaitingForStartOrder",
        Weight.BEHIND,
        Step.STARTED,
        Actor.KUBELET,
        "The pods have their nodes and wait until the cliques that start before them are ready.",
        "Look at those cliques.",
    )
    STARTING = (
        "Starting",
        Weight.PASSING,
        Step.STARTED,
        Actor.KUBELET,
        "The pods have their nodes, and their containers are being started.",
        "Wait. If it stays, look at the events of the pod and at its node.",
    )
    NOT_READY = (
        "NotReady",
        Weight.STUCK,
        Step.READY,
        Actor.YOU,
        "The containers run and do not report that they are ready.",
        "Wait if they are loading. Else read their log, and check the readiness probe.",
    )
    RUNNING = (
        "Running",
        Weight.FINE,
        Step.READY,
        Actor.NOBODY,
        "Every pod that is asked for is ready.",
        "Nothing to do.",
    )
    FINISHED = (
        "Finished",
        Weight.FINE,
        Step.READY,
        Actor.NOBODY,
        "All pods finished their work, and their restart policy lets them end.",
        "Nothing to do. Delete the set when you no longer need it.",
    )
    SCALED_TO_ZERO = (
        "ScaledToZero",
        Weight.FINE,
        Step.READY,
        Actor.NOBODY,
        "No pods are asked for: the set is scaled to zero, or each of its cliques and scaling groups is.",
        "Nothing to do. To run it: kubectl scale pcs NAME --replicas=1, or the same with pclq and pcsg for its parts.",
    )

    @property
    def fine(self) -> bool:
        """Whether everything that is asked for runs."""
        return self.weight <= Weight.FINE
