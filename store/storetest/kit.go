package storetest

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// kit is what a check works with: a way to fail and a way to make stores.
type kit struct {
	testing.TB
	factory Factory
}

// run gives part of a check its own name in the output: as a subtest under go
// test, as a plain call under anything else.
func (k *kit) run(name string, part func(*kit)) {
	t, ok := k.TB.(*testing.T)
	if !ok {
		part(k)
		return
	}
	t.Run(name, func(t *testing.T) { part(&kit{TB: t, factory: k.factory}) })
}

// open makes an empty store whose clock stands at a round moment.
func (k *kit) open() *lab {
	k.Helper()
	clock := &clock{now: time.UnixMilli(1_750_000_000_000).UTC()}
	subject := k.factory(k.TB, Config{Now: clock.Now})
	if subject.Store == nil {
		k.Fatal("the factory returned no store")
	}
	return &lab{kit: k, store: subject.Store, reopenStore: subject.Reopen, clock: clock, noPayload: subject.NoPayload}
}

// same fails unless got equals want. Empty and nil slices are equal. The size
// that goes with a cut content is looked at by the check of cutting alone,
// because nothing says what it is when nothing was cut.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := difference(got, want); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// difference describes how got differs from want, or is "".
func difference[T any](got, want T) string {
	if reflect.DeepEqual(got, want) {
		return "" // nearly always, and many times faster
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(convmem.Message{}, "ContentBytes"))
}

// ok ends the check when a call failed that had to succeed.
func (k *kit) ok(what string, err error) {
	k.Helper()
	if err != nil {
		k.Fatalf("%s: %v", what, err)
	}
}

// fails fails unless err is a *convmem.Error with the code and, where field is
// not "", the field. It returns the error, or nil when there is none.
func (k *kit) fails(what string, err error, code convmem.Code, field string) *convmem.Error {
	k.Helper()
	var coded *convmem.Error
	if !errors.As(err, &coded) {
		k.Errorf("%s: got error %v, want a *convmem.Error with code %s and field %q", what, err, code, field)
		return nil
	}
	if coded.Code != code || field != "" && coded.Field != field {
		k.Errorf("%s: got code %s and field %q, want %s and %q: %v", what, coded.Code, coded.Field, code, field, err)
	}
	return coded
}

// says fails unless the text of err holds every part. Digit groups may be
// separated.
func (k *kit) says(what string, err error, parts ...string) {
	k.Helper()
	if err == nil {
		return
	}
	text := strings.NewReplacer(",", "", "_", "").Replace(err.Error())
	for _, part := range parts {
		if part = strings.ReplaceAll(part, "_", ""); !strings.Contains(text, part) {
			k.Errorf("%s: the error does not say %q: %v", what, part, err)
		}
	}
}

// clock is the time of a store under test. It moves only when told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is a Config.Now.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// step moves the clock, backwards too.
func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
