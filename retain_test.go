package convmem_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/storetest"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const day = 24 * time.Hour

// aged writes a message of a tier that is so many days old on the day of w.now.
func (w *world) aged(session string, days int, tier convmem.MemoryTier) convmem.Message {
	w.Helper()
	today := w.now
	defer func() { w.now = today }()
	w.now = today.Add(-time.Duration(days) * day)
	return w.say(session, fmt.Sprintf("%s %d", tier, days), convmem.MetadataPatch{Tier: tier})
}

func (w *world) left(sessions ...string) []string {
	w.Helper()
	var all []string
	for _, session := range sessions {
		messages, errs := collect(convmem.AllMessages(ctx, w.db, convmem.HistoryRequest{SessionID: session}))
		if errs != nil {
			w.Fatal(errs)
		}
		all = append(all, contents(messages)...)
	}
	return all
}

// old fills a store with messages of three sessions and returns their ids.
func (w *world) old() []string {
	var ids []string
	for _, m := range []struct {
		session string
		days    int
		tier    convmem.MemoryTier
	}{
		{"a", 90, convmem.TierShort}, {"a", 80, convmem.TierLong}, {"a", 40, convmem.TierDiscard}, {"b", 31, convmem.TierShort},
		{"b", 29, convmem.TierShort}, {"a", 8, convmem.TierDiscard}, {"c", 6, convmem.TierDiscard}, {"a", 1, convmem.TierMid},
	} {
		ids = append(ids, w.aged(m.session, m.days, m.tier).ID)
	}
	return ids
}

var monthAndWeek = map[convmem.MemoryTier]time.Duration{convmem.TierShort: 30 * day, convmem.TierDiscard: 7 * day}

func TestRetain(t *testing.T) {
	for _, c := range []struct {
		name    string
		request convmem.RetainRequest
		deleted []int // of old, in the order of deletion
	}{
		{"two tiers", convmem.RetainRequest{MaxAge: monthAndWeek}, []int{0, 2, 5, 3}},
		{"one session", convmem.RetainRequest{MaxAge: monthAndWeek, SessionID: "b"}, []int{3}},
		{"an unknown session", convmem.RetainRequest{MaxAge: monthAndWeek, SessionID: "z"}, nil},
		{"one tier", convmem.RetainRequest{MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierLong: 30 * day}}, []int{1}},
		{"no age at all", convmem.RetainRequest{MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierMid: 0}}, []int{7}},
		{"nothing is so old", convmem.RetainRequest{MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierShort: 91 * day}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, dry := range []bool{true, false} {
				w := newWorld(t, convmem.Options{})
				ids := w.old()
				var want, rest []string
				for _, i := range c.deleted {
					want = append(want, ids[i])
				}
				for i, id := range ids {
					if dry || !slices.Contains(c.deleted, i) {
						rest = append(rest, id)
					}
				}
				c.request.Now, c.request.DryRun = w.now, dry
				got, err := convmem.Retain(ctx, w.db, c.request)
				w.ok("retain", err)
				if diff := cmp.Diff(want, got.Deleted); diff != "" {
					t.Errorf("dry run %v: %s", dry, diff)
				}
				if n := w.health().ActiveMessages; int(n) != len(rest) {
					t.Errorf("dry run %v: %d messages left, want %d", dry, n, len(rest))
				}
				for _, id := range rest {
					w.context(convmem.ContextRequest{MessageID: id})
				}
			}
		})
	}
}

// To the millisecond: a message goes when it is older than its tier allows, not
// when it is as old.
func TestRetainBoundary(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	m := w.say("s", "x", convmem.MetadataPatch{OccurredAt: w.now.Add(-1000 * day)})
	request := convmem.RetainRequest{MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierShort: day, convmem.TierLong: 0}}
	for _, c := range []struct {
		age     time.Duration
		deleted int
	}{{0, 0}, {-day, 0}, {day, 0}, {day + time.Nanosecond, 1}} {
		request.Now = m.Timestamp.Add(c.age)
		got, err := convmem.Retain(ctx, w.db, request)
		if w.ok("retain", err); len(got.Deleted) != c.deleted {
			t.Errorf("age %v: %d deleted", c.age, len(got.Deleted))
		}
	}
}

func TestRetainErrors(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.old()
	for _, c := range []struct {
		name    string
		request convmem.RetainRequest
		field   string
	}{
		{"no moment", convmem.RetainRequest{MaxAge: monthAndWeek}, "now"},
		{"no rule", convmem.RetainRequest{Now: w.now}, "max_age"},
		{"unknown tier", convmem.RetainRequest{Now: w.now, MaxAge: map[convmem.MemoryTier]time.Duration{"eternal": 1}}, "max_age"},
		{"empty tier", convmem.RetainRequest{Now: w.now, MaxAge: map[convmem.MemoryTier]time.Duration{"": 1}}, "max_age"},
		{"negative age", convmem.RetainRequest{Now: w.now, MaxAge: map[convmem.MemoryTier]time.Duration{convmem.TierShort: -1}}, "max_age"},
		{"long session", convmem.RetainRequest{Now: w.now, MaxAge: monthAndWeek, SessionID: strings.Repeat("s", 257)}, "session_id"},
	} {
		got, err := convmem.Retain(ctx, w.db, c.request)
		if e := w.fails(c.name, err, convmem.CodeValidation); e.Field != c.field || got.Deleted != nil {
			t.Errorf("%s: field %q, %v", c.name, e.Field, got)
		}
	}
	if n := w.health().ActiveMessages; n != 8 {
		t.Errorf("%d messages", n)
	}
}

// A message that was updated or deleted since its page was read is looked at again.
func TestRetainLooksAgain(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	ids := w.old()
	watch := &watched{Store: w.db}
	watch.beforeRead = func(number int) {
		if number == 3 { // after the list and the first session's page
			w.update(convmem.UpdateRequest{MessageID: ids[0], Metadata: &convmem.MetadataPatch{Tier: convmem.TierLong}})
			w.update(convmem.UpdateRequest{MessageID: ids[2], Content: new("changed")})
			w.remove(ids[5])
		}
	}
	got, err := convmem.Retain(ctx, watch, convmem.RetainRequest{Now: w.now, MaxAge: monthAndWeek})
	w.ok("retain", err)
	if diff := cmp.Diff([]string{ids[2], ids[3]}, got.Deleted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"short 90", "long 80", "mid 1"}, w.left("a")); diff != "" {
		t.Error(diff)
	}
}

// Young sessions are not read, and of others no more than their old beginning.
func TestRetainReads(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	w.aged("old", 50, convmem.TierShort)
	sayNumbers(t, w.db, "old", 500)
	for i := range 250 {
		w.aged(fmt.Sprint("young ", i), 3, convmem.TierShort)
	}
	watch := &watched{Store: w.db}
	got, err := convmem.Retain(ctx, watch, convmem.RetainRequest{Now: w.now, MaxAge: monthAndWeek})
	// 251 sessions are 3 pages, then one page of messages and one look.
	if w.ok("retain", err); len(got.Deleted) != 1 || watch.reads != 5 || watch.deletes != 1 {
		t.Errorf("%d deleted, %d reads, %d deletes", len(got.Deleted), watch.reads, watch.deletes)
	}
}

// Cancelled in between, it says what it did, and the next call does the rest.
func TestRetainCancelled(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	ids := w.old()
	ctx, cancel := context.WithCancel(ctx)
	watch := &watched{Store: w.db}
	watch.beforeRead = func(number int) {
		if number == 4 { // the look at the second message
			cancel()
		}
	}
	request := convmem.RetainRequest{Now: w.now, MaxAge: monthAndWeek}
	got, err := convmem.Retain(ctx, watch, request)
	w.fails("retain", err, convmem.CodeBusy)
	if diff := cmp.Diff(ids[:1], got.Deleted); diff != "" {
		t.Error(diff)
	}
	rest, err := convmem.Retain(context.Background(), w.db, request)
	w.ok("retain again", err)
	if diff := cmp.Diff([]string{ids[2], ids[5], ids[3]}, rest.Deleted); diff != "" {
		t.Error(diff)
	}
}

// Damage is left where it is, named, and not in the way of the rest.
func TestRetainBesideDamage(t *testing.T) {
	w := newWorld(t, convmem.Options{})
	ids := w.old()
	w.damage("discard 40")
	w.damage("short 29") // the representative of session b
	got, err := convmem.Retain(ctx, w.db, convmem.RetainRequest{Now: w.now, MaxAge: monthAndWeek})
	w.fails("retain", err, convmem.CodeCorrupt)
	if diff := cmp.Diff([]string{ids[0], ids[5]}, got.Deleted); diff != "" {
		t.Error(diff)
	}
	got, err = convmem.Retain(ctx, w.db, convmem.RetainRequest{Now: w.now, MaxAge: monthAndWeek, SessionID: "b"})
	w.fails("retain the session whose newest message is damaged", err, convmem.CodeCorrupt)
	if diff := cmp.Diff([]string{ids[3]}, got.Deleted); diff != "" {
		t.Error(diff)
	}
}

// Whatever the rules, exactly what they name goes.
func TestRetainProperty(t *testing.T) {
	tiers := []convmem.MemoryTier{convmem.TierShort, convmem.TierMid, convmem.TierLong, convmem.TierDiscard}
	deleted := 0
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_750_000_000_000)
		s := storetest.NewModel(storetest.Config{Now: func() time.Time { return now }})
		var written []convmem.Message
		for range rapid.IntRange(0, 30).Draw(t, "messages") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "days later")) * day)
			r, err := s.Write(ctx, convmem.WriteRequest{
				SessionID: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session"), Role: convmem.RoleUser, Content: "x",
				Metadata: convmem.MetadataPatch{Tier: rapid.SampledFrom(tiers).Draw(t, "tier")},
			})
			must(t, err)
			written = append(written, r.Message)
		}
		ages := rapid.MapOfN(rapid.SampledFrom(tiers), rapid.IntRange(0, 60), 1, 4).Draw(t, "rules")
		request := convmem.RetainRequest{Now: now, MaxAge: map[convmem.MemoryTier]time.Duration{}, SessionID: rapid.SampledFrom([]string{"", "", "b"}).Draw(t, "of")}
		for tier, days := range ages {
			request.MaxAge[tier] = time.Duration(days) * day
		}
		got, err := convmem.Retain(ctx, s, request)
		must(t, err)
		for _, m := range written {
			days, limited := ages[m.Metadata.Tier]
			goes := limited && now.Sub(m.Timestamp) > time.Duration(days)*day && (request.SessionID == "" || request.SessionID == m.SessionID)
			_, err := convmem.Context(ctx, s, convmem.ContextRequest{MessageID: m.ID})
			if (err != nil) != goes || slices.Contains(got.Deleted, m.ID) != goes {
				t.Fatalf("%s after %v: should go %v, gone %v, named %v", m.Metadata.Tier, now.Sub(m.Timestamp), goes, err, slices.Contains(got.Deleted, m.ID))
			}
		}
		deleted += len(got.Deleted)
	})
	if t.Log("deleted:", deleted); deleted == 0 {
		t.Error("nothing was ever deleted")
	}
}
