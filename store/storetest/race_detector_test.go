package storetest

import (
	"runtime/debug"
	"slices"
	"testing"
)

// withoutRaceDetector is for tests that work in one goroutine, or whose concurrent
// part other tests have too. The race detector would make them ten times slower and
// find nothing.
func withoutRaceDetector(t *testing.T) {
	t.Helper()
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("one goroutine; run it without the race detector")
	}
}
