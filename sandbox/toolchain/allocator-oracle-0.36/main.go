// The scheduler's own allocator as a filter: a case a line in (JSON), its outcome a line out. What it says is what
// the replica in topology/allocator is compared with. The text is the same in each allocator-oracle-*
// folder, isOnlyForNode excepted; go.mod has the version.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Objects are plain resource.k8s.io/v1; Taken are claims with a status.allocation.
type problem struct {
	Features structured.Features
	Node     *v1.Node
	Slices   []*resourceapi.ResourceSlice
	Classes  []*resourceapi.DeviceClass
	Taken    []*resourceapi.ResourceClaim
	Claims   []*resourceapi.ResourceClaim
}

type device struct {
	Request string `json:"request"`
	Driver  string `json:"driver"`
	Pool    string `json:"pool"`
	Device  string `json:"device"`
}

// Exactly one of Allocations, Unsatisfiable, NodeError and Error is set. Calls counts allocateOne.
type outcome struct {
	Allocations   [][]device `json:"allocations,omitempty"`
	Unsatisfiable bool       `json:"unsatisfiable,omitempty"`
	NodeError     string     `json:"nodeError,omitempty"`
	Error         string     `json:"error,omitempty"`
	Calls         int64      `json:"calls"`
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}

// As the scheduler's plugin does it (dynamicresources/allocateddevices.go): admin access takes nothing, a share of a
// device that allows several is known by its id and what it consumes.
func taken(claims []*resourceapi.ResourceClaim) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.AdminAccess != nil && *result.AdminAccess {
				continue
			}
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			if result.ShareID == nil {
				state.AllocatedDevices.Insert(id)
				continue
			}
			state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
			if result.ConsumedCapacity != nil {
				state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
			}
		}
	}
	return state
}

// The allocator counts its calls, but the type it tells them in is internal to its module.
func calls(allocator structured.Allocator) int64 {
	method := reflect.ValueOf(allocator).MethodByName("GetStats")
	return method.Call(nil)[0].FieldByName("NumAllocateOneInvocations").Int()
}

func isOnlyForNode(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }

func solve(p problem, cache *cel.Cache) outcome {
	ctx := context.Background()
	allocator, err := structured.NewAllocator(ctx, p.Features, taken(p.Taken), classes(p.Classes), p.Slices, cache)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	results, err := allocator.Allocate(ctx, p.Node, p.Claims)
	answer := outcome{Calls: calls(allocator)}
	switch {
	case isOnlyForNode(err):
		answer.NodeError = err.Error()
	case err != nil:
		answer.Error = err.Error()
	case len(results) != len(p.Claims):
		answer.Unsatisfiable = true
	default:
		answer.Allocations = make([][]device, len(results))
		for i, result := range results {
			answer.Allocations[i] = []device{}
			for _, r := range result.Devices.Results {
				answer.Allocations[i] = append(answer.Allocations[i], device{r.Request, r.Driver, r.Pool, r.Device})
			}
		}
	}
	return answer
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	caches := map[bool]*cel.Cache{}
	for in.Scan() {
		var p problem
		if err := json.Unmarshal(in.Bytes(), &p); err != nil {
			fmt.Fprintln(os.Stderr, "not a case:", err)
			os.Exit(2)
		}
		// Kept between cases, and larger than the scheduler's ten: it decides how long a case takes, not its outcome.
		cache := caches[p.Features.ConsumableCapacity]
		if cache == nil {
			cache = cel.NewCache(1000, cel.Features{EnableConsumableCapacity: p.Features.ConsumableCapacity})
			caches[p.Features.ConsumableCapacity] = cache
		}
		if err := out.Encode(solve(p, cache)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
