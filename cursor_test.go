package convmem

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
	"pgregory.net/rapid"
)

// cursorChecks opens a text as a cursor of every kind.
func cursorChecks(namespace, session string) map[string]func(text string) error {
	return map[string]func(string) error{
		"ascending": func(text string) error {
			_, err := historyRun(namespace, session, OrderAscending).resume(text)
			return err
		},
		"descending": func(text string) error {
			_, err := historyRun(namespace, session, OrderDescending).resume(text)
			return err
		},
		"sessions": func(text string) error {
			_, err := sessionsRun(namespace).resumeSessions(text)
			return err
		},
	}
}

// cursorSamples makes one cursor of every kind.
func cursorSamples(namespace, session string, p sessionsPlace) map[string]string {
	return map[string]string{
		"ascending":  historyRun(namespace, session, OrderAscending).after(p.horizon),
		"descending": historyRun(namespace, session, OrderDescending).after(p.horizon),
		"sessions":   sessionsRun(namespace).afterSession(p),
	}
}

var somePlace = sessionsPlace{
	horizon: ulid.MustParseStrict("01ARZ3NDEKTSV4RRFFQ69G5FAV"), sequence: 7, ms: 1_750_000_000_000, name: "日本",
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := sessionsPlace{
			horizon: drawID(t, "horizon"), sequence: rapid.Uint64().Draw(t, "sequence"), ms: rapid.Uint64().Draw(t, "ms"),
			name: drawText(t, "name", 1, MaxSessionIDBytes),
		}
		namespace, session := drawText(t, "namespace", 0, 10), drawText(t, "session", 1, 10)
		samples := cursorSamples(namespace, session, want)
		got, err := sessionsRun(namespace).resumeSessions(samples["sessions"])
		if err != nil || got != want {
			t.Fatalf("sessions: %+v, %v; want %+v", got, err, want)
		}
		for _, order := range []Order{OrderAscending, OrderDescending} {
			run := historyRun(namespace, session, order)
			if id, err := run.resume(run.after(want.horizon)); err != nil || id != want.horizon {
				t.Fatalf("history: %v, %v; want %v", id, err, want.horizon)
			}
		}
		for kind, text := range samples {
			if len(text) > maxCursorBytes || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
				t.Fatalf("%s: %q is not a short word of a URL", kind, text)
			}
		}
	})
}

// TestCursorsAreBound opens every cursor in every run: only its own takes it.
func TestCursorsAreBound(t *testing.T) {
	type place struct{ kind, namespace, session string }
	var places []place
	for _, kind := range []string{"ascending", "descending", "sessions"} {
		for _, names := range [][2]string{{"", "ab"}, {"", "a"}, {"a", "b"}, {"ab", ""}} {
			places = append(places, place{kind, names[0], names[1]})
		}
	}
	tried := 0
	for _, made := range places {
		cursor := cursorSamples(made.namespace, made.session, somePlace)[made.kind]
		for _, used := range places {
			err := cursorChecks(used.namespace, used.session)[used.kind](cursor)
			same := made == used || made.kind == "sessions" && used.kind == "sessions" && made.namespace == used.namespace
			if (err == nil) != same {
				t.Errorf("made for %v, used for %v: %v", made, used, err)
			}
			tried++
		}
	}
	t.Logf("%d pairs", tried)
}

// TestEveryChangedByteIsRefused changes every character of every cursor to every
// other byte, removes it and doubles it.
func TestEveryChangedByteIsRefused(t *testing.T) {
	checks := cursorChecks("", "session")
	tried := 0
	for kind, text := range cursorSamples("", "session", somePlace) {
		if err := checks[kind](text); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		refused := func(damaged string) {
			tried++
			err := checks[kind](damaged)
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeValidation || e.Field != "cursor" {
				t.Errorf("%s: %q taken for %q: %v", kind, damaged, text, err)
			}
		}
		for i := range len(text) {
			for b := range 256 {
				if damaged := text[:i] + string([]byte{byte(b)}) + text[i+1:]; damaged != text {
					refused(damaged)
				}
			}
			refused(text[:i] + text[i+1:])
			refused(text[:i+1] + text[i:])
			refused(text[:i] + "\n" + text[i:])
		}
	}
	t.Logf("%d damaged cursors refused", tried)
}

// TestForgedCursors are well sealed and still no cursors of this version.
func TestForgedCursors(t *testing.T) {
	seal := func(b []byte) string {
		return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
	}
	ascending, sessions := historyRun("", "s", OrderAscending), sessionsRun("")
	for name, c := range map[string]struct{ kind, text, want string }{
		"newer version":      {"ascending", seal(append([]byte{2, runAscending}, make([]byte, 24)...)), "version 2"},
		"only a checksum":    {"ascending", seal(nil), "damaged"},
		"history, no id":     {"ascending", ascending.seal(nil), "damaged"},
		"history, long id":   {"ascending", ascending.seal(make([]byte, 17)), "damaged"},
		"sessions, no name":  {"sessions", sessions.seal(make([]byte, sessionsNumbers)), "damaged"},
		"sessions, too long": {"sessions", sessions.seal(make([]byte, sessionsNumbers+257)), "damaged"},
		"very long":          {"sessions", strings.Repeat("A", 1<<20), "1048576 bytes, at most 512"},
		"not base64":         {"sessions", "a cursor", "damaged"},
	} {
		err := cursorChecks("", "s")[c.kind](c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestNoCursorIsTheStart(t *testing.T) {
	id, err := historyRun("", "s", OrderDescending).resume("")
	if diff := gocmp.Diff(ulid.ULID{}, id); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range cursorSamples("", "session", somePlace) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for kind, check := range cursorChecks("", "session") {
			if check(text) == nil && text != "" && len(text) < base64.RawURLEncoding.EncodedLen(cursorHead+cursorChecksum) {
				t.Fatalf("%s: %q is no cursor", kind, text)
			}
		}
		// What opens is the one spelling of its place.
		if place, err := sessionsRun("").resumeSessions(text); err == nil && sessionsRun("").afterSession(place) != text {
			t.Fatalf("%q opens as %+v, which is spelt %q", text, place, sessionsRun("").afterSession(place))
		}
		run := historyRun("", "session", OrderAscending)
		if id, err := run.resume(text); err == nil && text != "" && run.after(id) != text {
			t.Fatalf("%q opens as %v, which is spelt %q", text, id, run.after(id))
		}
	})
}
