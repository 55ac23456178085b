package convmem

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ForgetRequest names what is to be forgotten: one session, or with AllSessions
// every session that the Store shows, such as all of a namespace.
type ForgetRequest struct {
	SessionID   string // 1 to MaxSessionIDBytes; "" with AllSessions
	AllSessions bool
}

// ForgetResult says what was done. It holds what was done so far when Forget fails.
type ForgetResult struct {
	Sessions int           // gone through
	Deleted  int           // messages that this call deleted
	Rebuilt  bool          // Rebuild ended without an error
	Rebuild  RebuildResult // what it did
	// Searched counts the removed texts that a search looked for in vain: the
	// content of the first messages of all sessions together, at most 100.
	Searched int
	// Proven is true when, after the rebuild, the sessions were read and had no
	// message, and no search found a removed text in them.
	Proven bool
}

// maxProbes is how many removed texts are searched for.
const maxProbes = 100

// probe is a removed text, as a query.
type probe struct{ session, query string }

// Forget deletes all messages of a session from any Store, rebuilds it, so that no
// byte of them is left on the disk, and proves it by reading: the history is empty,
// and a search of the session for the texts that were removed finds nothing. The
// error is nil only if [ForgetResult.Proven]. It removes one session and not what
// others quote of it: summaries, relations to its messages and notes of [Feedback]
// on them are in sessions of their own. Files that the store does not know, such as
// backups and exports, keep what they have.
//
// It deletes a session at once where the Store is a [SessionDeleter], else its
// messages one after another, oldest first. It can be repeated: after an error or a
// cancelled context the next call goes on, and for a session that is gone it
// rebuilds and proves again, but then knows no texts to search for. It fails with
// [CodeBusy] when somebody wrote to a session meanwhile. Where messages are deleted
// one after another it fails with [CodeCorrupt] when one is damaged: it deletes what
// it can read, does not rebuild, and the error names the message, which Delete can
// remove by its id. AllSessions does the same where the newest message of a session
// is damaged, since such a session is not listed: name it, in a call of its own.
//
// While another Rebuild runs, which may have begun before the deletions, it waits
// and tries again after 10 ms, 20 ms and so on up to a second, for as long as ctx
// allows.
//
// For each session it costs one Read at the beginning, one for each page of 100
// messages, one DeleteSession or one Delete for each message, and one Read at the end; and in all one
// Rebuild and at most 100 searches, and with AllSessions one Read for each page of
// sessions, twice. A rebuild reads and writes the whole store.
func Forget(ctx context.Context, s Store, r ForgetRequest) (ForgetResult, error) {
	if err := r.check(); err != nil {
		return ForgetResult{}, fail("delete", err)
	}
	f := forgetting{request: r, store: s}
	for _, step := range []func(context.Context) error{f.deleteAll, f.rebuild, f.proveEmpty, f.proveUnfound} {
		if err := step(ctx); err != nil {
			return f.result, err
		}
	}
	f.result.Proven = true
	return f.result, nil
}

func (r ForgetRequest) check() error {
	if !r.AllSessions {
		return checkSession(r.SessionID)
	}
	if r.SessionID != "" {
		return invalid("session_id", "given together with all_sessions, want one of them")
	}
	return nil
}

// forgetting is one run of Forget.
type forgetting struct {
	request  ForgetRequest
	store    Store
	sessions []string
	probes   []probe
	result   ForgetResult
}

// deleteAll goes on behind damage and returns the first of it.
func (f *forgetting) deleteAll(ctx context.Context) error {
	var damage error
	passes := func(err error) bool {
		if damage == nil {
			damage = err
		}
		return behindDamage(err) != ""
	}
	if err := f.list(ctx, passes); err != nil {
		return err
	}
	reads := passes
	if _, whole := f.store.(SessionDeleter); whole { // deletes what cannot be read
		reads = func(err error) bool { return behindDamage(err) != "" }
	}
	for _, session := range f.sessions {
		if err := f.addProbes(ctx, session, reads); err != nil {
			return err
		}
		deleted, err := deleteSession(ctx, f.store, session, passes)
		f.result.Deleted += deleted
		if err != nil {
			return err
		}
		f.result.Sessions++
	}
	return damage
}

// list finds the sessions. They are all named before the first is touched.
func (f *forgetting) list(ctx context.Context, passes func(error) bool) error {
	if !f.request.AllSessions {
		f.sessions = []string{f.request.SessionID}
		return nil
	}
	for session, err := range AllSessions(ctx, f.store, SessionsRequest{}) {
		switch {
		case err == nil:
			f.sessions = append(f.sessions, session.SessionID)
		case !passes(err):
			return err
		}
	}
	return nil
}

// addProbes keeps texts of a session to search for once it is gone.
func (f *forgetting) addProbes(ctx context.Context, session string, passes func(error) bool) error {
	room := maxProbes - len(f.probes)
	if room == 0 {
		return nil
	}
	for message, err := range AllMessages(ctx, f.store, HistoryRequest{SessionID: session, Limit: room}) {
		switch {
		case err == nil:
			f.probes = append(f.probes, probe{session, strings.Clone(cutBytes(message.Content, MaxQueryBytes))})
		case !passes(err):
			return err
		}
		if len(f.probes) == maxProbes {
			break
		}
	}
	return nil
}

// deleteSession deletes the messages of a session, at once where the Store can, and
// returns how many. One after another it passes over damaged ones that passes lets
// by.
func deleteSession(ctx context.Context, s Store, session string, passes func(error) bool) (deleted int, err error) {
	if whole, ok := s.(SessionDeleter); ok {
		result, err := whole.DeleteSession(ctx, DeleteSessionRequest{SessionID: session})
		return result.Deleted, err
	}
	for message, err := range AllMessages(ctx, s, HistoryRequest{SessionID: session}) {
		if err != nil {
			if !passes(err) {
				return deleted, err
			}
			continue
		}
		result, err := s.Delete(ctx, DeleteRequest{MessageID: message.ID})
		if err != nil {
			return deleted, err
		}
		if result.Deleted {
			deleted++
		}
	}
	return deleted, nil
}

// The pauses before a rebuild is tried again.
const (
	firstRebuildPause = 10 * time.Millisecond
	lastRebuildPause  = time.Second
)

// rebuild tries until the Store is not busy.
func (f *forgetting) rebuild(ctx context.Context) error {
	for pause := firstRebuildPause; ; pause = min(2*pause, lastRebuildPause) {
		result, err := f.store.Rebuild(ctx, RebuildRequest{})
		if err == nil {
			f.result.Rebuilt, f.result.Rebuild = true, result
			return nil
		}
		if !errors.Is(err, ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// proveEmpty reads what should be empty.
func (f *forgetting) proveEmpty(ctx context.Context) error {
	if f.request.AllSessions {
		left, err := Sessions(ctx, f.store, SessionsRequest{Limit: 1})
		if err != nil {
			return err
		}
		if len(left.Sessions) > 0 {
			return errWrittenMeanwhile()
		}
	}
	for _, session := range f.sessions {
		left, err := History(ctx, f.store, HistoryRequest{SessionID: session, Limit: 1})
		if err != nil {
			return err
		}
		if len(left.Messages) > 0 {
			return errWrittenMeanwhile()
		}
	}
	return nil
}

func errWrittenMeanwhile() error {
	return &Error{Op: "delete", Code: CodeBusy, Message: "somebody wrote to a session while it was forgotten: stop that, and forget it again"}
}

// proveUnfound searches for what was removed.
func (f *forgetting) proveUnfound(ctx context.Context) error {
	for _, p := range f.probes {
		found, err := f.store.Search(ctx, SearchRequest{Query: p.query, SessionID: p.session, Limit: 1})
		if err != nil {
			return err
		}
		if len(found.Hits) > 0 {
			return &Error{Op: "delete", Code: CodeInternal, Message: "a search still finds message " + found.Hits[0].ID + ", which its session does not show"}
		}
		f.result.Searched++
	}
	return nil
}
