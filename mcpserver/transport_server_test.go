package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// setting says what a server of these tests is made of, in whichever process it
// runs.
type setting struct {
	Store          string // one of the names in open
	Dir            string
	MaxResultBytes int
}

// settingVariable holds the setting of a child process as JSON.
const settingVariable = "CONVMEM_TEST_SETTING"

func (s setting) options() *Options { return &Options{MaxResultBytes: s.MaxResultBytes} }

// open returns a new store and what closes it.
func (s setting) open() (convmem.Store, func() error, error) {
	nothing := func() error { return nil }
	switch s.Store {
	case "echo":
		return echo{}, nothing, nil
	case "samples":
		return &samples{}, nothing, nil
	case "model":
		return newModel(), nothing, nil
	}
	o := &convmem.Options{}
	if s.Store == "memory" {
		o.FS, o.Now, o.Entropy = vfs.NewMem(4096), standstill, zeros{}
	}
	db, err := convmem.Open(context.Background(), s.Dir, o)
	if err != nil {
		return nil, nil, err
	}
	return db, db.Close, nil
}

// mustOpen opens a store of this process for as long as the test.
func (s setting) mustOpen(t testing.TB) convmem.Store {
	t.Helper()
	store, closeStore, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeStore(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A clock that stands still and a source of zeros make the ids of a store, and
// with them its answers, the same in every process.
func standstill() time.Time { return time.UnixMilli(1720843200000) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// TestTransportServer is no test in a run that was not started by
// transportCommand: it is the server of a child process.
func TestTransportServer(t *testing.T) {
	text := os.Getenv(settingVariable)
	if text == "" {
		return
	}
	var s setting
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		err = serveSetting(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveSetting(s setting) error {
	store, closeStore, err := s.open()
	if err != nil {
		return err
	}
	if err := ServeStdio(context.Background(), store, s.options()); err != nil {
		return err
	}
	return closeStore()
}

func transportCommand(t testing.TB, s setting) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestTransportServer$")
	cmd.Env = append(os.Environ(), settingVariable+"="+string(quote(s)))
	return cmd
}

// startChild starts a server process without shaking hands. At the end of the
// test it must end well and have said nothing more.
func startChild(t testing.TB, s setting) *host {
	t.Helper()
	cmd := transportCommand(t, s)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	if inErr != nil || outErr != nil {
		t.Fatal(inErr, outErr)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &host{TB: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		in.Close()
		rest, _ := io.ReadAll(h.out)
		if err := cmd.Wait(); err != nil || len(rest) > 0 || complaints.Len() > 0 {
			t.Errorf("the child ended with %v, more output %.200q, on standard error: %s", err, rest, &complaints)
		}
	})
	return h
}

// echo is a Store that fails every call with the request in the error, so that
// what a server made of arguments can be seen from another process.
type echo struct{}

func echoError(request any) *convmem.Error {
	return &convmem.Error{Code: convmem.CodeNotFound, Message: spell(reflect.ValueOf(request))}
}

// spell writes a request with every field that is set. A nil slice is not set,
// an empty one is.
func spell(v reflect.Value) string {
	if at, ok := v.Interface().(time.Time); ok {
		return fmt.Sprint(at.UnixMilli())
	}
	var parts []string
	switch v.Kind() {
	case reflect.Pointer:
		return "&" + spell(v.Elem())
	case reflect.String:
		return fmt.Sprintf("%q", v)
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, spell(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				parts = append(parts, v.Type().Field(i).Name+":"+spell(v.Field(i)))
			}
		}
		return v.Type().Name() + "{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprint(v)
}

func echoed[Result any](request any) (none Result, err error) { return none, echoError(request) }

func (echo) Write(_ context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	return echoed[convmem.WriteResult](r)
}

func (echo) Update(_ context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return echoed[convmem.UpdateResult](r)
}

func (echo) Read(_ context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return echoed[convmem.ReadResult](r)
}

func (echo) Search(_ context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return echoed[convmem.SearchResult](r)
}

func (echo) Delete(_ context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return echoed[convmem.DeleteResult](r)
}

func (echo) Rebuild(_ context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return echoed[convmem.RebuildResult](r)
}

func (echo) Health(_ context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
	return echoed[convmem.HealthResult](r)
}

// choosing is the session of the write that chooses a sample.
const choosing = "choose a sample"

// samples is a Store that answers as the output row does whose name was written
// last to the session choosing.
type samples struct {
	mu     sync.Mutex
	chosen *fake
}

func (s *samples) sample() *fake {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chosen
}

func (s *samples) Write(ctx context.Context, r convmem.WriteRequest) (convmem.WriteResult, error) {
	if r.SessionID != choosing {
		return s.sample().Write(ctx, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, row := range outputRows() {
		if row.name == r.Content {
			s.chosen = row.store
			return convmem.WriteResult{Message: plainMessage()}, nil
		}
	}
	return convmem.WriteResult{}, fmt.Errorf("no output row has that name")
}

func (s *samples) Update(ctx context.Context, r convmem.UpdateRequest) (convmem.UpdateResult, error) {
	return s.sample().Update(ctx, r)
}

func (s *samples) Read(ctx context.Context, r convmem.ReadRequest) (convmem.ReadResult, error) {
	return s.sample().Read(ctx, r)
}

func (s *samples) Search(ctx context.Context, r convmem.SearchRequest) (convmem.SearchResult, error) {
	return s.sample().Search(ctx, r)
}

func (s *samples) Delete(ctx context.Context, r convmem.DeleteRequest) (convmem.DeleteResult, error) {
	return s.sample().Delete(ctx, r)
}

func (s *samples) Rebuild(ctx context.Context, r convmem.RebuildRequest) (convmem.RebuildResult, error) {
	return s.sample().Rebuild(ctx, r)
}

func (s *samples) Health(ctx context.Context, r convmem.HealthRequest) (convmem.HealthResult, error) {
	return s.sample().Health(ctx, r)
}
