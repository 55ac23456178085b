package storetest

import (
	"testing"

	"example.com/convmem"
)

// modelFactory makes Models. A Model keeps its data as long as it lives, so
// its next life is itself.
func modelFactory(_ testing.TB, c Config) Subject {
	m := NewModel(c)
	return Subject{Store: m, Reopen: func() convmem.Store { return m }}
}

func TestModel(t *testing.T) {
	withoutRaceDetector(t)
	Run(t, modelFactory)
}

func TestModelRandom(t *testing.T) {
	withoutRaceDetector(t)
	RunRandom(t, modelFactory)
}
