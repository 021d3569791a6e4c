"""API groups and versions."""

GROVE = "grove.io"
SCHEDULER = "scheduler.grove.io"
OPERATOR_CONFIG = "operator.config.grove.io"
V1ALPHA1 = "v1alpha1"

GROVE_V1ALPHA1 = f"{GROVE}/{V1ALPHA1}"
SCHEDULER_V1ALPHA1 = f"{SCHEDULER}/{V1ALPHA1}"
OPERATOR_CONFIG_V1ALPHA1 = f"{OPERATOR_CONFIG}/{V1ALPHA1}"
