"""What each gang API of kube-scheduler guarantees."""

from collections.abc import Sequence

from grove.schedulers.guarantees import Guarantee, SchedulerVariant

_NO_PREFERENCE = {Guarantee.TOPOLOGY_PREFERRED: "reported on the gang"}

VARIANTS: Sequence[SchedulerVariant] = (
    SchedulerVariant(
        "CompositePodGroup",
        "kube-scheduler 1.37, trees",
        {
            Guarantee.ALL_OR_NOTHING: "yes",
            Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang, one by one",
            Guarantee.WAITING_HOLDS_NO_ROOM: "yes",
            Guarantee.RESCHEDULED_AS_GANG: "yes",
            Guarantee.TOPOLOGY_REQUIRED: "set, scaling group, clique",
            Guarantee.PREEMPTION: "of whole gangs",
        },
        _NO_PREFERENCE,
    ),
    SchedulerVariant(
        "PodGroupV1beta1",
        "kube-scheduler 1.37, flat",
        {
            Guarantee.ALL_OR_NOTHING: "yes",
            Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang, one by one",
            Guarantee.WAITING_HOLDS_NO_ROOM: "yes",
            Guarantee.RESCHEDULED_AS_GANG: "yes",
            Guarantee.TOPOLOGY_REQUIRED: "set",
            Guarantee.PREEMPTION: "of whole gangs",
        },
        _NO_PREFERENCE,
    ),
    SchedulerVariant(
        "PodGroupV1alpha2",
        "kube-scheduler 1.36",
        {
            Guarantee.ALL_OR_NOTHING: "yes",
            Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang, one by one",
            Guarantee.WAITING_HOLDS_NO_ROOM: "yes",
            Guarantee.RESCHEDULED_AS_GANG: "yes",
            Guarantee.TOPOLOGY_REQUIRED: "set",
            Guarantee.PREEMPTION: "of whole gangs, with `WorkloadAwarePreemption`",
        },
        _NO_PREFERENCE,
    ),
    SchedulerVariant(
        "WorkloadV1alpha1",
        "kube-scheduler 1.35",
        {
            Guarantee.ALL_OR_NOTHING: "yes",
            Guarantee.MINIMUM_BELOW_REPLICAS: "the others follow the gang, one by one",
            Guarantee.RESCHEDULED_AS_GANG: "yes",
            Guarantee.PREEMPTION: "of single pods",
        },
        {
            Guarantee.WAITING_HOLDS_NO_ROOM: "for up to five minutes",
            Guarantee.TOPOLOGY_REQUIRED: "reported on the gang",
            Guarantee.TOPOLOGY_PREFERRED: "reported on the gang",
        },
    ),
)

WITHOUT_GANGS = SchedulerVariant(
    "NoGangAPI",
    "kube-scheduler without a gang API",
    {},
    {Guarantee.ALL_OR_NOTHING: "pods are released together and placed one by one"},
)
