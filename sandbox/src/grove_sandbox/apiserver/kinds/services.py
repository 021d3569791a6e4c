"""Services: allocation of cluster IPs, and validation of ports."""

from grove_sandbox.apiserver.errors import FieldViolation, duplicate, invalid, required, unsupported
from grove_sandbox.apiserver.resources import names
from grove_sandbox.apiserver.resources.strategy import Strategy, keep
from grove_sandbox.apiserver.schema.shapes import Shape
from grove_sandbox.apiserver.state import ApiCall
from grove_sandbox.apiserver.storage import Object

SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


class ServiceStrategy(Strategy):
    creates_on_update = True
    returns_deleted = True

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, names.service_name)
        self._next_address = 1

    def prepare_create(self, obj: Object, call: ApiCall) -> None:
        super().prepare_create(obj, call)
        spec = obj["spec"] = dict(obj.get("spec") or {})
        if spec.get("type", "ClusterIP") != "ExternalName" and not spec.get("clusterIP"):
            self._next_address += 1
            spec["clusterIP"] = f"10.96.{self._next_address // 250 % 250}.{self._next_address % 250 + 1}"
        if spec.get("clusterIP"):
            spec["clusterIPs"] = [spec["clusterIP"]]
            spec.setdefault("ipFamilies", ["IPv4"])
            spec.setdefault("ipFamilyPolicy", "SingleStack")

    def initial_status(self, obj: Object, call: ApiCall) -> Object:
        return {"loadBalancer": {}}

    def prepare_update(self, new: Object, old: Object, call: ApiCall) -> None:
        super().prepare_update(new, old, call)
        spec = new["spec"] = dict(new.get("spec") or {})
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if not spec.get(field):
                keep(spec, old["spec"], field)

    def validate(self, obj: Object, call: ApiCall) -> list[FieldViolation]:
        spec = obj.get("spec") or {}
        kind, ports = spec.get("type"), spec.get("ports") or []
        errors: list[FieldViolation] = []
        if kind not in SERVICE_TYPES:
            errors.append(unsupported("spec.type", kind, SERVICE_TYPES))
        if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
            errors.append(required("spec.ports"))
        seen: set[str] = set()
        for index, port in enumerate(ports):
            path, name = f"spec.ports[{index}]", port.get("name", "")
            if not name and len(ports) > 1:
                errors.append(required(f"{path}.name"))
            elif name:
                errors += [invalid(f"{path}.name", name, problem) for problem in names.label(name)]
            if name and name in seen:
                errors.append(duplicate(f"{path}.name", name))
            seen.add(name)
            if not 1 <= port.get("port", 0) <= 65535:
                errors.append(
                    invalid(f"{path}.port", port.get("port", 0), "must be between 1 and 65535, inclusive")
                )
        return errors

    def validate_update(self, new: Object, old: Object, call: ApiCall) -> list[FieldViolation]:
        errors: list[FieldViolation] = []
        fresh, stored = new["spec"].get("clusterIP"), old["spec"].get("clusterIP")
        if fresh != stored and stored and new["spec"].get("type") != "ExternalName":
            errors.append(invalid("spec.clusterIPs[0]", [fresh], "may not change once set"))
        return errors + super().validate_update(new, old, call)
