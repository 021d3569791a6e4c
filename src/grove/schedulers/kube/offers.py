"""What each gang API of kube-scheduler promises."""

from collections.abc import Sequence

from grove.schedulers.promises import Offer, Promise

_NO_PREFERENCE = {Promise.TOPOLOGY_PREFERRED: "said on the gang"}

OFFERS: Sequence[Offer] = (
    Offer(
        "CompositePodGroup",
        "kube-scheduler 1.37, trees",
        {
            Promise.GANG: "yes",
            Promise.MINIMUM: "the others follow the gang, one by one",
            Promise.FREE_ROOM: "yes",
            Promise.AGAIN: "yes",
            Promise.TOPOLOGY_REQUIRED: "set, scaling group, clique",
            Promise.PREEMPTION: "of whole gangs",
        },
        _NO_PREFERENCE,
    ),
    Offer(
        "PodGroupV1beta1",
        "kube-scheduler 1.37, flat",
        {
            Promise.GANG: "yes",
            Promise.MINIMUM: "the others follow the gang, one by one",
            Promise.FREE_ROOM: "yes",
            Promise.AGAIN: "yes",
            Promise.TOPOLOGY_REQUIRED: "set",
            Promise.PREEMPTION: "of whole gangs",
        },
        _NO_PREFERENCE,
    ),
    Offer(
        "PodGroupV1alpha2",
        "kube-scheduler 1.36",
        {
            Promise.GANG: "yes",
            Promise.MINIMUM: "the others follow the gang, one by one",
            Promise.FREE_ROOM: "yes",
            Promise.AGAIN: "yes",
            Promise.TOPOLOGY_REQUIRED: "set",
            Promise.PREEMPTION: "of whole gangs, with `WorkloadAwarePreemption`",
        },
        _NO_PREFERENCE,
    ),
    Offer(
        "WorkloadV1alpha1",
        "kube-scheduler 1.35",
        {
            Promise.GANG: "yes",
            Promise.MINIMUM: "the others follow the gang, one by one",
            Promise.AGAIN: "yes",
            Promise.PREEMPTION: "of single pods",
        },
        {
            Promise.FREE_ROOM: "for up to five minutes",
            Promise.TOPOLOGY_REQUIRED: "said on the gang",
            Promise.TOPOLOGY_PREFERRED: "said on the gang",
        },
    ),
)

WITHOUT_GANGS = Offer(
    "NoGangAPI",
    "kube-scheduler without a gang API",
    {},
    {Promise.GANG: "pods are released together and placed one by one"},
)
