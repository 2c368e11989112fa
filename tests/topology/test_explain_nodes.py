"""A cluster of many nodes is told of in few words and soon."""

from __future__ import annotations

from tests.topology.explained import ANY, claim, explained, held, match, node, text
from tests.topology.worlds import Plain, device, one, slice_of
from topology.explain import Verdict


class TestManyNodes:
    def cluster(self, nodes: int) -> list[Plain]:
        things: list[Plain] = [ANY]
        for number in range(nodes):
            name = f"node-{number:03}"
            devices = [
                device(f"npu-{n}", {"ring": n // 8, "root": f"pci{number}:{n}", "uuid": f"{number}-{n}"})
                for n in range(16)
            ]
            things += [node(name), slice_of(devices, name=name, pool=name, nodeName=name)]
            # A state of its own for every node: two to four of each ring are in use.
            taken = [(number + 3 * n) % 8 for n in range(2 + number % 3)]
            taken += [8 + (number * 5 + n) % 8 for n in range(2 + number % 2)]
            for id in taken:
                holder = held(f"h-{number}-{id}", f"npu-{id}", pod=f"p-{number}-{id}")
                holder["status"]["allocation"]["devices"]["results"][0]["pool"] = name
                things.append(holder)
        return [*things, claim(one(count=8), constraints=[match("ring")])]

    def test_nodes_of_which_the_same_is_to_be_said_are_put_together(self) -> None:
        found = explained(self.cluster(60))
        assert found.verdict is Verdict.DOES_NOT_FIT
        assert sum(len(one.nodes) for one in found.nodes) == 60
        assert len(found.nodes) == 6, "by how many of each ring are free"
        assert "Devices and holders below are those of node-000" in text(found)

    def test_where_least_is_to_be_done_comes_first(self) -> None:
        found = explained(self.cluster(60))
        numbers = [len(one.remedies.free.holdings) for one in found.nodes if one.remedies.free is not None]
        assert numbers == sorted(numbers)
        assert f"Nearest is {found.nodes[0].example}, with 2 devices to be freed" in text(found)

    def test_a_large_cluster_takes_seconds(self) -> None:
        import time

        things = self.cluster(200)
        start = time.process_time()
        explained(things)
        assert time.process_time() - start < 8, "a few seconds on an idle machine"
