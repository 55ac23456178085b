package mcpserver

import (
	"slices"
	"strings"
	"testing"

	"example.com/convmem/store/storetest"
)

// TestConformance puts an SDK client and a server between the suite and a
// store that passes it.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB, c storetest.Config) storetest.Subject {
		if moveMegabytes(t.Name()) {
			if raceDetector {
				t.Skip("one call after another, and a minute of them with the race detector")
			}
			return storetest.Subject{Store: direct(storetest.NewModel(c), nil), NoPayload: true}
		}
		return storetest.Subject{Store: connect(t, storetest.NewModel(c), nil), NoPayload: true}
	})
}

// moveMegabytes names the checks whose messages the SDK would copy for most of
// a minute. They have their tools called without a connection.
func moveMegabytes(check string) bool {
	return slices.ContainsFunc([]string{"/size_of_a_", "/damaged", "/error_text", "/nothing_is_cut", "_MiB"}, func(part string) bool {
		return strings.Contains(check, part)
	})
}

func TestConformanceRandom(t *testing.T) {
	t.Parallel()
	storetest.RunRandom(t, func(t testing.TB, c storetest.Config) storetest.Subject {
		return storetest.Subject{Store: direct(storetest.NewModel(c), nil), NoPayload: true}
	})
}
