"""Random slices, states and claims, small enough to search to the end and odd enough to find where the replica errs.

Seeded: a case is known by its seed and version. Everything is plain resource.k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

DRIVERS = ("a.example", "b.example")
API = "resource.k8s.io/v1"
Plain = dict[str, Any]


@dataclass
class Case:
    """objects: classes, slices, claims; the pending ones are allocated in order. node is the Node to do it for."""

    version: str
    node: Plain
    slices: list[Plain] = field(default_factory=list)
    classes: list[Plain] = field(default_factory=list)
    taken: list[Plain] = field(default_factory=list)
    claims: list[Plain] = field(default_factory=list)

    def data(self) -> Plain:
        """As JSON, the form in which mismatches are kept."""
        return dict(vars(self))


def make(seed: int, version: str) -> Case:
    """The case of this seed."""
    return _Maker(Random(f"{version}/{seed}"), version).case()


class _Maker:
    def __init__(self, random: Random, version: str) -> None:
        self.random = random
        self.version = version
        self.betas = version in ("1.36", "1.37")
        self.may: Callable[[float], bool] = lambda chance: random.random() < chance
        self.ids: list[tuple[str, str, Plain]] = []
        # A case is about some features, not about all at once: else nothing is ever allocated.
        self.sharing = self.betas and self.may(0.25)
        self.counting = self.betas and self.may(0.2)
        self.tainting = self.betas and self.may(0.2)
        self.broken = self.may(0.1)
        self.scoped = self.may(0.15)
        self.lacking = 0.25 if self.may(0.4) else 0.02
        self.careless = self.may(0.1)
        self.unpolished = self.may(0.25)

    def case(self) -> Case:
        random = self.random
        labels = {"zone": random.choice("ab"), "size": str(random.randint(1, 9))}
        case = Case(self.version, {"kind": "Node", "metadata": {"name": "n1", "labels": labels}})
        pools = 1 if not self.betas and self.may(0.8) else random.randint(1, 3)
        for number in range(pools):
            case.slices += self.pool(random.choice(DRIVERS), f"p{number}")
        random.shuffle(case.slices)
        case.classes = self.classes()
        case.taken = self.taken()
        case.claims = [self.claim(f"c{number}") for number in range(random.choice((1, 1, 1, 1, 2, 3)))]
        return case

    # Slices.

    def pool(self, driver: str, name: str) -> list[Plain]:
        random = self.random
        parts = 1 if not self.betas and self.may(0.8) else random.choice((1, 1, 2, 3))
        counters = [{"name": f"set{number}", "counters": self.counter_values(8, 20)} for number in range(2)]
        slices = []
        total = 0
        for _ in range(parts):
            devices = [
                self.device(driver, f"d{total + number}", counters)
                for number in range(random.choice((0, 1, 2, 3, 4, 5, 6)))
            ]
            total += len(devices)
            slices.append({"devices": devices, **self.scope(devices)})
        if self.counting:
            slices.append({"sharedCounters": counters, **self.scope([])})
        generation = random.randint(1, 3)
        made = []
        for part, spec in enumerate(slices):
            count = len(slices)
            if self.broken and self.may(0.1):
                count += random.choice((-1, 1))
            older = self.broken and self.may(0.1)
            pool = {"name": name, "generation": generation - older, "resourceSliceCount": count}
            # Names whose order is not that of the parts.
            mark = random.randint(0, 99)
            made.append(
                self.wrap(
                    "ResourceSlice", f"s-{mark}-{driver[0]}-{name}-{part}", {"driver": driver, "pool": pool, **spec}
                )
            )
        if self.broken and self.may(0.3) and made:
            devices = made[0]["spec"].get("devices") or []
            if devices and len(made) > 1 and made[1]["spec"].get("devices"):
                made[1]["spec"]["devices"][0]["name"] = devices[0]["name"]
        for one in made:
            self.ids += [(driver, name, device) for device in one["spec"].get("devices", [])]
        return made

    def scope(self, devices: list[Plain]) -> Plain:
        if not self.scoped:
            return {"nodeName": "n1"}
        random = self.random
        kind = random.choice(("name", "all", "selector", "each" if self.betas and devices else "name"))
        if kind == "name":
            return {"nodeName": random.choice(("n1", "n1", "n2"))}
        if kind == "all":
            return {"allNodes": True}
        if kind == "selector":
            return {"nodeSelector": self.selector()}
        for device in devices:
            device.update(
                random.choice(
                    ({"nodeName": "n1"}, {"nodeName": "n2"}, {"allNodes": True}, {"nodeSelector": self.selector()})
                )
            )
        return {"perDeviceNodeSelection": True}

    def selector(self) -> Plain:
        random = self.random
        one = random.choice(
            (
                {"key": "zone", "operator": "In", "values": [random.choice("abc")]},
                {"key": "zone", "operator": "NotIn", "values": ["a", "c"]},
                {"key": random.choice(("zone", "none")), "operator": random.choice(("Exists", "DoesNotExist"))},
                {"key": random.choice(("size", "zone")), "operator": random.choice(("Gt", "Lt")), "values": ["5"]},
            )
        )
        term: Plain = {"matchExpressions": [one]}
        if self.may(0.2):
            term["matchFields"] = [
                {"key": "metadata.name", "operator": random.choice(("In", "NotIn")), "values": ["n1"]}
            ]
        return {"nodeSelectorTerms": [term]}

    def device(self, driver: str, name: str, counters: list[Plain]) -> Plain:
        random = self.random
        attributes = {
            "ring": {"int": random.randint(0, 1)},
            "pair": {"int": random.randint(0, 2)},
            "chip": {"string": random.choice(("x", "y"))},
            "std.example/numa": random.choice(({"int": 0}, {"int": 1})),
            "ok": {"bool": self.may(0.7)},
            "ver": {"version": random.choice(("1.2.3", "1.10.0", "2.0.0-rc.1", "2.0.0"))},
        }
        if self.may(0.05):
            attributes["std.example/numa"] = {"string": "0"}
        if self.may(0.05):
            # A full name of its own driver, and one of another's.
            name = random.choice(("ring", "pair"))
            attributes[f"{driver}/{name}"] = attributes.pop(name)
        if self.may(0.05):
            attributes["b.example/chip"] = {"string": random.choice("xy")}
            if driver == "b.example" and not self.may(0.2):
                # Both names at once is what the scheduler itself answers by chance.
                del attributes["chip"]
        kept = {key: value for key, value in attributes.items() if not self.may(self.lacking)}
        device: Plain = {"name": name, "attributes": kept}
        if self.may(0.8):
            device["capacity"] = {"mem": {"value": random.choice(("8Gi", "16Gi", "32Gi", "10", "1500m"))}}
        if self.sharing and self.may(0.6):
            self.share(device)
        if self.counting and self.may(0.6):
            sets = random.sample(counters, random.randint(1, 2))
            device["consumesCounters"] = [
                {"counterSet": one["name"], "counters": self.counter_values(1, 12, list(one["counters"]))}
                for one in sets
            ]
            if self.broken and self.may(0.1):
                device["consumesCounters"][0]["counterSet"] = "missing"
        if self.tainting and self.may(0.4):
            device["taints"] = [self.taint() for _ in range(random.randint(1, 2))]
        if self.betas and self.may(0.03):
            device["bindingConditions"] = ["ready"]
            device["bindingFailureConditions"] = ["broken"]
        return device

    def counter_values(self, low: int, high: int, names: list[str] | None = None) -> Plain:
        random = self.random
        names = names or ["cores", "mem"]
        kept = random.sample(names, random.randint(1, len(names)))
        return {name: {"value": str(random.randint(low, high))} for name in kept}

    def share(self, device: Plain) -> None:
        random = self.random
        device["allowMultipleAllocations"] = True
        capacity = {"mem": {"value": random.choice(("4", "8", "10", "6500m"))}, "cores": {"value": "6"}}
        if self.may(0.2):
            del capacity["cores"]
        for one in capacity.values():
            policy: Plain | None = random.choice(
                (
                    None,
                    {"default": "1"},
                    {"default": "2", "validValues": ["1", "2", "4"]},
                    {"default": "2", "validRange": {"min": "1", "max": "6", "step": "1"}},
                    {"default": "1", "validRange": {"min": "1"}},
                    {"default": "1500m", "validRange": {"min": "500m", "max": "5", "step": "500m"}},
                    {"default": "3", "validRange": {"min": "3", "step": "2"}},
                )
            )
            if policy is not None:
                one["requestPolicy"] = policy  # type: ignore[assignment]
        device["capacity"] = capacity if self.may(0.9) else {}

    def taint(self) -> Plain:
        random = self.random
        effect = random.choice(("NoSchedule", "NoExecute", "None", "NoSchedule"))
        made = {"key": random.choice(("hot", "old")), "effect": effect}
        if self.may(0.5):
            made["value"] = random.choice(("1", "2"))
        return made

    # Classes and claims.

    def classes(self) -> list[Plain]:
        plain: list[list[str]] = [
            [],
            ['device.driver == "a.example"'],
            [self.expression()],
            ["true", self.expression()],
        ]
        return [
            self.wrap(
                "DeviceClass", f"class{number}", {"selectors": [{"cel": {"expression": one}} for one in selectors]}
            )
            for number, selectors in enumerate(plain)
        ]

    def driver(self) -> str:
        """Mostly one that there is."""
        return self.random.choice(self.ids)[0] if self.ids and not self.may(0.1) else self.random.choice(DRIVERS)

    def expression(self) -> str:
        """A selector; one that reads an attribute without asking first only now and then."""
        random = self.random
        at = self.driver()
        value = f'device.attributes["{at}"]'
        name = random.choice(("ring", "pair", "chip", "ok", "ver", "numa"))
        if name == "numa":
            value = 'device.attributes["std.example"]'
        literal = {"chip": '"x"', "ok": "true"}.get(name, "1")
        compare = random.choice((f"{value}.{name} == {literal}", f"{value}.{name} != {literal}"))
        if name in ("ring", "pair", "numa"):
            compare = random.choice(
                (compare, f"{value}.{name} < 1", f"{value}.{name} in [0, 2]", f"{value}.{name} >= 0")
            )
        if name == "ver":
            compare = random.choice(
                (
                    f'{value}.ver.isLessThan(semver("2.0.0"))',
                    f'{value}.ver.compareTo(semver("1.2.3")) > 0',
                    f"{value}.ver.major() == 1 && {value}.ver.minor() >= 2",
                )
            )
        if name == "ok" and self.may(0.3):
            compare = f"{value}.ok"
        sure = random.choice(
            (
                f'"{name}" in {value} && {compare}',
                f"has({value}.{name}) && {compare}",
                f"!has({value}.{name}) || {compare}",
                f'device.driver == "{at}" && has({value}.{name}) && {compare}',
            )
        )
        other = random.choice(
            (
                "true",
                f'device.driver == "{at}"',
                f'"{at}" in device.attributes',
                f'"{at}" in device.capacity',
                f'{value}.?chip.orValue("x") == "x"',
                f"size({value}) > 3",
                'device.attributes["c.example"].size() == 0',
                'device.attributes.exists(d, d == "std.example")',
                f'has(device.capacity["{at}"].mem) && device.capacity["{at}"].mem.compareTo(quantity("10Gi")) > 0',
                f'has(device.capacity["{at}"].mem) && device.capacity["{at}"].mem.isLessThan(quantity("9Gi"))',
                f'"mem" in device.capacity["{at}"] && device.capacity["{at}"].mem == quantity("16384Mi")',
                f'has(device.capacity["{at}"].mem) ? device.capacity["{at}"].mem.isInteger() : false',
                *(("!device.allowMultipleAllocations",) if self.betas else ()),
            )
        )
        if self.careless and self.may(0.5):
            return compare
        return random.choice((sure, sure, other, f"{sure} && {other}", f"{other} || {sure}"))

    def claim(self, name: str) -> Plain:
        random = self.random
        requests = [self.request(f"r{number}") for number in range(random.choice((1, 1, 1, 2, 2, 3)))]
        constraints = [self.constraint(requests) for _ in range(random.choice((0, 0, 0, 1, 1, 1, 2, 3)))]
        devices: Plain = {"requests": requests}
        if constraints:
            devices["constraints"] = constraints
        return self.wrap("ResourceClaim", name, {"devices": devices}, namespace="default")

    def request(self, name: str) -> Plain:
        if self.may(0.25):
            alternatives = [{"name": f"s{number}", **self.asked()} for number in range(self.random.randint(1, 4))]
            return {"name": name, "firstAvailable": alternatives}
        exactly = self.asked()
        if self.may(0.06):
            exactly["adminAccess"] = self.may(0.9)
        return {"name": name, "exactly": exactly}

    def asked(self) -> Plain:
        random = self.random
        made: Plain = {"deviceClassName": f"class{random.choice((0, 0, 0, 0, 0, 1, 1, 2, 3))}"}
        if self.may(0.12):
            made["allocationMode"] = "All"
        else:
            made["allocationMode"] = "ExactCount"
            made["count"] = random.choice((1, 1, 1, 2, 2, 3, 4)) if not self.may(0.03) else random.choice((17, 33))
        if self.may(0.2):
            made["selectors"] = [{"cel": {"expression": self.expression()}}]
        if self.tainting and self.may(0.5):
            made["tolerations"] = [self.toleration()]
        if (self.sharing and self.may(0.5)) or (self.betas and self.may(0.03)):
            names = random.sample(("mem", "cores"), random.randint(1, 2))
            made["capacity"] = {
                "requests": {one: random.choice(("1", "2", "3", "5", "1500m", "250m")) for one in names}
            }
            if not self.unpolished:
                made["capacity"]["requests"] = {one: random.choice(("1", "2", "3")) for one in names}
        return made

    def toleration(self) -> Plain:
        random = self.random
        made = {"operator": random.choice(("Exists", "Equal"))}
        if made["operator"] == "Equal":
            made["value"] = random.choice(("1", "2"))
        if self.may(0.7) or made["operator"] == "Equal":
            made["key"] = random.choice(("hot", "old"))
        if self.may(0.4):
            made["effect"] = random.choice(("NoSchedule", "NoExecute"))
        return made

    def constraint(self, requests: list[Plain]) -> Plain:
        random = self.random
        at = self.driver()
        attribute = random.choice(
            (f"{at}/ring", f"{at}/ring", f"{at}/pair", f"{at}/chip", "std.example/numa", "std.example/numa")
            if not self.may(0.04)
            else (f"{at}/none", f"{at}/ver", f"{at}/ok")
        )
        made: Plain = {"distinctAttribute" if self.betas and self.may(0.25) else "matchAttribute": attribute}
        if self.may(0.6):
            names = [request["name"] for request in requests]
            names += [f"{one['name']}/{sub['name']}" for one in requests for sub in one.get("firstAvailable", ())]
            made["requests"] = random.sample(names, random.randint(1, len(names)))
        return made

    def taken(self) -> list[Plain]:
        random = self.random
        results = []
        for driver, pool, device in self.ids:
            if not self.may(random.choice((0.02, 0.05, 0.4))):
                continue
            shares = random.randint(1, 3) if device.get("allowMultipleAllocations") and not self.may(0.05) else 0
            for _ in range(max(shares, 1)):
                result: Plain = {"request": "r", "driver": driver, "pool": pool, "device": device["name"]}
                if self.may(0.05):
                    result["adminAccess"] = True
                if shares:
                    result["shareID"] = f"{random.getrandbits(64):016x}"
                    if self.may(0.9):
                        amounts = {name: random.choice(("1", "2", "500m")) for name in device.get("capacity", {})}
                        result["consumedCapacity"] = amounts
                results.append(result)
        if not results:
            return []
        claim = self.wrap("ResourceClaim", "busy", {"devices": {"requests": []}}, namespace="default")
        claim["status"] = {"allocation": {"devices": {"results": results}}}
        return [claim]

    @staticmethod
    def wrap(kind: str, name: str, spec: Plain, **metadata: str) -> Plain:
        return {"kind": kind, "apiVersion": API, "metadata": {"name": name, **metadata}, "spec": spec}
