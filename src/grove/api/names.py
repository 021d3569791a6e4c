"""The names of all objects that Grove creates.

`i` counts the replicas of a set, `j` those of a scaling group, `p` the pods of a clique; all start at 0.

    PodClique                 <set>-<i>-<clique>             or  <set>-<i>-<group>-<j>-<clique>
    PodCliqueScalingGroup     <set>-<i>-<group>
    PodGang, base             <set>-<i>
    PodGang, scaled           <set>-<i>-<group>-<j - minAvailable>
    headless Service          <set>-<i>
    hostname of a pod         <PodClique>-<p>
"""

MAX_COMBINED_LENGTH = 45
"""The longest set name + clique name (+ group name): leaves room for the indices within 63 characters."""


def clique(pcs: str, i: int, name: str) -> str:
    """A PodClique outside scaling groups."""
    return f"{pcs}-{i}-{name}"


def scaling_group(pcs: str, i: int, name: str) -> str:
    return f"{pcs}-{i}-{name}"


def scaling_group_replica(group: str, j: int) -> str:
    """Names a copy of a scaling group in a PodGang's topology constraints. `group` is the PodCliqueScalingGroup."""
    return f"{group}-{j}"


def clique_in_group(group: str, j: int, name: str) -> str:
    return f"{group}-{j}-{name}"


def base_gang(pcs: str, i: int) -> str:
    return f"{pcs}-{i}"


def scaled_gang(group: str, j: int, min_available: int) -> str:
    """The gang of a copy beyond minAvailable. Its index counts from 0 again. Raises ValueError for other copies."""
    if j < min_available:
        raise ValueError(f"copy {j} of {group} belongs to the base gang: minAvailable is {min_available}")
    return f"{group}-{j - min_available}"


def gang_of_group_replica(pcs: str, i: int, group: str, j: int, min_available: int) -> str:
    return base_gang(pcs, i) if j < min_available else scaled_gang(group, j, min_available)


def headless_service(pcs: str, i: int) -> str:
    return f"{pcs}-{i}"


def service_address(pcs: str, i: int, namespace: str) -> str:
    return f"{headless_service(pcs, i)}.{namespace}.svc.cluster.local"


def hostname(clique_name: str, p: int | str) -> str:
    """`p` may also be a placeholder for an index that is not known yet."""
    return f"{clique_name}-{p}"


def pod_generate_name(clique_name: str) -> str:
    return f"{clique_name}-"


def service_account(pcs: str) -> str:
    """The account with which the init container of ordered starts reads the pods that it waits for."""
    return pcs


def role(pcs: str) -> str:
    return f"grove.io:pcs:{pcs}"


def role_label(pcs: str) -> str:
    """The role's name as a label value, which must not contain colons."""
    return role(pcs).replace(":", "-")


def token_secret(pcs: str) -> str:
    return f"{pcs}-ic-sat"


def shared_claim(owner: str, template: str) -> str:
    """A resource claim that all replicas of its owner share."""
    return f"{owner}-all-{template}"


def replica_claim(owner: str, index: int | str, template: str) -> str:
    return f"{owner}-{index}-{template}"


def compute_domain(pcs: str, i: int, group: str) -> str:
    return f"{pcs}-{i}-{group}"


def kai_pod_group(gang: str, uid: str) -> str:
    """KAI looks PodGroups up by name, ignoring the namespace: the UID keeps names unique in the cluster."""
    return f"pg-{gang}-{uid}"
