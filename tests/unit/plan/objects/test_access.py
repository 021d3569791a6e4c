"""Only sets with a start order get a service account that may read pods."""

from grove.plan.objects.access import access
from tests.unit.api.sets import clique
from tests.unit.plan.samples import layout


def test_a_set_without_a_start_order_needs_no_access() -> None:
    assert access(layout(clique("a"), clique("b"))) == []
    assert access(layout(clique("a"), cliqueStartupType="CliqueStartupTypeInOrder")) == []


def test_the_service_account_may_read_pods_and_no_more() -> None:
    found = layout(clique("a"), clique("b"), cliqueStartupType="CliqueStartupTypeInOrder")
    account, role, binding, secret = access(found)
    assert [o["kind"] for o in (account, role, binding, secret)] == [
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "Secret",
    ]
    assert {v for r in role["rules"] for v in r["verbs"]} == {"get", "list", "watch"}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    assert secret["metadata"]["annotations"] == {
        "kubernetes.io/service-account.name": account["metadata"]["name"]
    }
    assert all(o["metadata"]["ownerReferences"][0]["uid"] == "uid-of-set" for o in access(found))
