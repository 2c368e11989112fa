"""What is no object of the API, or none that the replica knows, is refused and named."""

from __future__ import annotations

import pytest

from tests.topology.worlds import API, Plain, device, npus, one, run, slice_of, wrap
from topology.allocator import Malformed, Unmodelled, read_world


class TestWhatIsRefused:
    @pytest.mark.parametrize("version", ["1.34", "1.35"])
    def test_fields_that_an_older_cluster_drops_unless_told_otherwise(self, version: str) -> None:
        with pytest.raises(Unmodelled, match="gate"):
            run([slice_of(npus(1))], one(tolerations=[{"operator": "Exists"}]), version=version)

    def test_fields_that_nobody_knows(self) -> None:
        with pytest.raises(Unmodelled, match="colour"):
            run([slice_of([device("x", colour="red")])], one())
        with pytest.raises(Unmodelled, match="lists"):
            run([slice_of([{"name": "x", "attributes": {"numa": {"ints": [0, 1]}}}])], one())

    @pytest.mark.parametrize(
        ("thing", "where"),
        [
            (wrap("ResourceSlice", "s", {"driver": 1, "pool": {"name": "p"}}), "ResourceSlice s"),
            (slice_of([{"name": "x", "attributes": {"ring": {"int": "1"}}}]), "attribute ring"),
            (slice_of([device("x", capacity={"mem": {"value": "lots"}})]), "capacity mem"),
            ({"kind": "DeviceClass", "apiVersion": "resource.k8s.io/v1beta1", "metadata": {"name": "c"}}, "v1beta1"),
            ({"kind": "List", "items": "none"}, "items"),
        ],
    )
    def test_what_the_api_server_would_not_take_is_named(self, thing: Plain, where: str) -> None:
        with pytest.raises(Malformed, match=where):
            read_world([thing])

    def test_objects_in_lists_are_found(self) -> None:
        bare = slice_of(npus(1))
        del bare["kind"], bare["apiVersion"]
        world = read_world([{"kind": "ResourceSliceList", "apiVersion": API, "items": [bare]}])
        assert [slice.name for slice in world.slices] == ["s"]
