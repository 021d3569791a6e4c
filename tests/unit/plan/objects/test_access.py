"""Access to pods is given to sets that order their start, and to no others."""

from grove.plan.objects.access import access
from tests.unit.api.sets import clique
from tests.unit.plan.samples import layout


def test_a_set_that_starts_in_any_order_gets_none() -> None:
    assert access(layout(clique("a"), clique("b"))) == []
    assert access(layout(clique("a"), cliqueStartupType="CliqueStartupTypeInOrder")) == []


def test_an_account_may_read_pods_and_no_more() -> None:
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
