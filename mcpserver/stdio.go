package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"example.com/convmem"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is how long calls that were received may still take.
type patience struct {
	afterInput time.Duration // when the input has ended
	afterStop  time.Duration // when the context has ended
}

// standardPatience answers what a script piped in, and is done before a host
// kills: hosts that sent a signal do so about two seconds later.
var standardPatience = patience{afterInput: 30 * time.Second, afterStop: 1500 * time.Millisecond}

// ServeStdio serves store on standard input and output, one JSON-RPC message a
// line, until the input or ctx ends. Nothing else may be written to standard
// output meanwhile.
//
// A line that is no JSON gets the error -32700 and one longer than 16 MiB is
// skipped with the error -32600; neither ends the session. White space around
// a line, blank lines and a byte order mark at the start are ignored.
//
// At the end of the input everything that was received is still done and
// answered, for at most 30 seconds; when ctx ends, for at most 1.5 seconds,
// after which the contexts of the calls that are left end too. ServeStdio then
// returns, so that the caller can close the store: with nil when every call was
// answered, also after ctx ended. A goroutine that waits for standard input
// may stay behind, because such a read cannot be interrupted.
func ServeStdio(ctx context.Context, store convmem.Store, o *Options) error {
	return serve(ctx, store, o, os.Stdin, os.Stdout, standardPatience)
}

func serve(ctx context.Context, store convmem.Store, o *Options, in io.Reader, out io.Writer, p patience) error {
	server, err := newServer(oneStore(store), o)
	if err != nil {
		return err
	}
	s := newStdio(ctx, loggerOf(o), out, p)
	go s.receive(newFrames(in))
	session, err := Connect(context.WithoutCancel(ctx), server, s, nil)
	if err != nil {
		return fmt.Errorf("mcpserver: connect: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-s.expired: // whatever still runs has had its time
	}
	return errors.Join(err, s.failure())
}

// stdio is a transport and its one connection. It takes the place of the SDK's,
// which loses answers when the input ends and the session over one bad line.
type stdio struct {
	patience
	stop    <-chan struct{} // the caller wants to end
	logger  *slog.Logger
	lines   chan received
	closed  chan struct{}
	broken  chan struct{} // nobody reads the output any more
	expired chan struct{} // a drain took too long

	closeOnce sync.Once
	writing   sync.Mutex // held while a line is written
	out       io.Writer

	mu         sync.Mutex
	running    map[jsonrpc.ID]bool // ids of calls, until their answers are made; whether those are wanted
	left       int                 // calls whose answers are not written
	answered   chan struct{}       // gets a value after every answer
	inputError error
	writeError error
	unanswered int // calls left behind by a drain
}

// received is a line or the reason why there is none.
type received struct {
	line []byte
	err  error
}

func newStdio(ctx context.Context, logger *slog.Logger, out io.Writer, p patience) *stdio {
	return &stdio{
		patience: p,
		stop:     ctx.Done(),
		logger:   logger,
		lines:    make(chan received),
		closed:   make(chan struct{}),
		broken:   make(chan struct{}),
		expired:  make(chan struct{}),
		out:      out,
		running:  map[jsonrpc.ID]bool{},
		answered: make(chan struct{}, 1),
	}
}

// Connect implements mcp.Transport.
func (s *stdio) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SessionID implements mcp.Connection. Standard input has one session.
func (s *stdio) SessionID() string { return "" }

// Close implements mcp.Connection.
func (s *stdio) Close() error {
	s.closeOnce.Do(func() { close(s.closed) })
	return nil
}

// receive reads lines until the input ends or the connection is closed.
func (s *stdio) receive(f *frames) {
	defer close(s.lines)
	for {
		line, err := f.next()
		if err != nil && !errors.Is(err, errFrameTooLong) {
			s.inputEnded(err)
			return
		}
		select {
		case s.lines <- received{line, err}:
		case <-s.closed:
			return
		}
	}
}

func (s *stdio) inputEnded(err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputError = err
}

// maxUnanswered is how many calls wait or run before the next line is left
// unread. It is far more than a host has under way and keeps a script that is
// piped in from being held in memory as a whole, and at its end from having more
// left to do than there is time for.
const maxUnanswered = 256

// Read implements mcp.Connection. It returns io.EOF only when every call is
// answered or has had its time: on an error of Read the SDK ends the contexts
// of all calls and drops their answers.
func (s *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		lines := s.lines
		if s.unfinished() >= maxUnanswered {
			lines = nil // until there is an answer
		}
		select {
		case <-s.answered:
		case r, more := <-lines:
			if !more {
				return nil, s.drain(s.afterInput)
			}
			if message := s.accept(r); message != nil {
				return message, nil
			}
		case <-s.stop:
			return nil, s.drain(s.afterStop)
		case <-s.broken:
			return nil, s.drain(s.afterInput)
		case <-s.closed:
			return nil, io.EOF
		}
	}
}

// accept returns the message in a line, or answers that there is none.
func (s *stdio) accept(r received) jsonrpc.Message {
	if r.err != nil {
		s.logger.Warn("a line was skipped", "reason", r.err)
		s.answerFromRead(refuse(nil, jsonrpc.CodeInvalidRequest, "invalid request: "+r.err.Error()))
		return nil
	}
	message, refusal := decodeFrame(r.line)
	if call, ok := message.(*jsonrpc.Request); ok && refusal == nil && !s.begin(call) {
		refusal = refuse(nil, jsonrpc.CodeInvalidRequest, "invalid request: the id is that of a call that still runs")
	}
	if refusal != nil {
		s.logger.Warn("a line was refused")
		s.answerFromRead(refusal)
		return nil
	}
	return message
}

// answerFromRead writes a line and waits for that, so that a host that sends
// nonsense has to read what it is told. A host that does not read must not keep
// Read from noticing the end, though.
func (s *stdio) answerFromRead(line []byte) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.writeLine(line)
	}()
	patience := time.NewTimer(s.afterInput)
	defer patience.Stop()
	select {
	case <-written:
	case <-s.stop:
	case <-s.closed:
	case <-patience.C:
	}
}

// begin counts a call, unless its id is taken.
func (s *stdio) begin(r *jsonrpc.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.IsCall() {
		s.cancel(r)
		return true
	}
	if _, taken := s.running[r.ID]; taken {
		return false
	}
	s.running[r.ID] = true
	s.left++
	return true
}

// cancel takes note of a call whose answer is not wanted any more. The SDK ends
// its context; what it did by then stays done. Sending the answer all the same
// is forbidden since 2026-07-28.
func (s *stdio) cancel(r *jsonrpc.Request) {
	var params struct{ RequestID any }
	if r.Method != "notifications/cancelled" || json.Unmarshal(r.Params, &params) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(params.RequestID); err == nil {
		if _, runs := s.running[id]; runs {
			s.running[id] = false
		}
	}
}

// Write implements mcp.Connection. It never fails: the SDK would end the
// contexts of all calls, although what they change is wanted all the same. The
// id of a call is free before its answer is out, because a client may use it
// again at once.
func (s *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	counted, wanted := false, true
	if r, ok := m.(*jsonrpc.Response); ok {
		m = withCode(r)
		counted, wanted = s.free(r.ID)
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if wanted {
		s.writeLine(line)
	}
	if counted {
		s.end()
	}
	return nil
}

// withCode gives an error a code that has none, such as that of a call before the
// handshake. Zero, which the SDK would send, is no code of JSON-RPC.
func withCode(r *jsonrpc.Response) *jsonrpc.Response {
	if coded := (*jsonrpc.Error)(nil); r.Error == nil || errors.As(r.Error, &coded) {
		return r
	}
	fault := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "invalid request: " + r.Error.Error()}
	return &jsonrpc.Response{ID: r.ID, Error: fault}
}

// free reports whether the id was that of a call that counts, and whether the
// answer is wanted.
func (s *stdio) free(id jsonrpc.ID) (counted, wanted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted, counted = s.running[id]
	delete(s.running, id)
	return counted, wanted || !counted
}

func (s *stdio) end() {
	s.mu.Lock()
	s.left--
	s.mu.Unlock()
	select {
	case s.answered <- struct{}{}:
	default: // a value is waiting already
	}
}

// writeLine writes one line, or nothing once a write has failed.
func (s *stdio) writeLine(line []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	select {
	case <-s.broken:
		return
	default:
	}
	if _, err := s.out.Write(append(line, '\n')); err != nil {
		s.mu.Lock()
		s.writeError = err
		s.mu.Unlock()
		close(s.broken)
	}
}

// failure says what went wrong with the streams, if anything did.
func (s *stdio) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.writeError != nil:
		return fmt.Errorf("mcpserver: write answers: %w", s.writeError)
	case s.unanswered > 0:
		return fmt.Errorf("mcpserver: stopped with %d calls unanswered", s.unanswered)
	case s.inputError != nil:
		return fmt.Errorf("mcpserver: read requests: %w", s.inputError)
	}
	return nil
}

// drain waits until every call is answered, but no longer than limit, and then
// returns io.EOF.
func (s *stdio) drain(limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	stop := s.stop
	for s.unfinished() > 0 {
		select {
		case <-s.answered:
		case <-stop:
			stop = nil
			deadline.Reset(min(limit, s.afterStop))
		case <-s.closed:
			return io.EOF
		case <-deadline.C:
			s.giveUp()
			return io.EOF
		}
	}
	return io.EOF
}

func (s *stdio) unfinished() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

func (s *stdio) giveUp() {
	s.mu.Lock()
	s.unanswered = s.left
	s.mu.Unlock()
	close(s.expired)
}
