package convmem

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
)

// RetainRequest says how long messages are kept.
type RetainRequest struct {
	Now time.Time // the present moment; must be given
	// MaxAge holds, for one tier or more, the age beyond which its messages are
	// deleted, 0 or more. Tiers that it does not name are kept.
	MaxAge    map[MemoryTier]time.Duration
	SessionID string // "" means all sessions
	DryRun    bool   // delete nothing and say what would be deleted
}

// RetainResult says what was deleted, or with DryRun would be.
type RetainResult struct {
	// Deleted holds ids of messages in the order in which they were deleted: by
	// sessions, oldest first. It takes about 50 bytes for each.
	Deleted []string
}

// Retain deletes the messages of any Store that are older than their tier allows.
// Nothing else ever deletes by age. Their bytes leave the disk with the next
// Rebuild.
//
// Age is r.Now less Timestamp, and a message goes when that is more than MaxAge.
// OccurredAt does not count: it is what a caller claims, and old conversations would
// vanish as soon as they are written. Timestamp is when the message was written, and
// no update changes it; what [DB.Import] brings has the time of its id.
//
// Each message is looked at again right before it is deleted, and stays when it is
// then of a tier that keeps it. Store has no conditional Delete, so an update that
// comes between these two calls is lost with its message. Messages that come to be
// old enough while it runs go the next time.
//
// It works in pages and stops at the first error, with the result of what it did so
// far; running it again goes on. Damaged messages do not stop it: it leaves them,
// goes on behind them and returns the first of their errors at the end; a session
// whose representative message is damaged is not listed and must be named. When ctx
// ends, the next call to the Store is the error.
//
// It costs one Read for each page of sessions, one for each page of messages that
// are older than the least MaxAge (none for sessions that have no such message),
// and one Read and one Delete for each message that goes.
func Retain(ctx context.Context, s Store, r RetainRequest) (RetainResult, error) {
	if err := r.check(); err != nil {
		return RetainResult{}, fail("delete", err)
	}
	run := retention{request: r, store: s}
	err := run.all(ctx)
	if err == nil {
		err = run.damage
	}
	return run.result, err
}

func (r RetainRequest) check() error {
	if r.Now.IsZero() {
		return invalid("now", "not given, want the present moment")
	}
	if len(r.MaxAge) == 0 {
		return invalid("max_age", "empty, want an age for at least one tier")
	}
	for _, tier := range slices.Sorted(maps.Keys(r.MaxAge)) {
		if err := checkOneOf("max_age", tier, tiers); err != nil {
			return err
		}
		if age := r.MaxAge[tier]; age < 0 {
			return invalid("max_age", "%v for %s, want 0 or more", age, tier)
		}
	}
	return checkText("session_id", r.SessionID, 0, MaxSessionIDBytes)
}

// expired says whether a message is older than its tier allows.
func (r RetainRequest) expired(m Message) bool {
	most, limited := r.MaxAge[m.Metadata.Tier]
	return limited && r.Now.Sub(m.Timestamp) > most
}

// retention is one run of Retain.
type retention struct {
	request RetainRequest
	store   Store
	result  RetainResult
	damage  error // the first
}

// passes reports whether the run can go on behind an error.
func (run *retention) passes(err error) bool {
	if behindDamage(err) == "" {
		return false
	}
	if run.damage == nil {
		run.damage = err
	}
	return true
}

func (run *retention) all(ctx context.Context) error {
	if run.request.SessionID != "" {
		return run.session(ctx, run.request.SessionID)
	}
	for session, err := range AllSessions(ctx, run.store, SessionsRequest{}) {
		if err != nil {
			if !run.passes(err) {
				return err
			}
			continue
		}
		if run.young(session.StartedAt) {
			continue
		}
		if err := run.session(ctx, session.SessionID); err != nil {
			return err
		}
	}
	return nil
}

// young says whether no tier lets a message go that was written then.
func (run *retention) young(written time.Time) bool {
	least := slices.Min(slices.Collect(maps.Values(run.request.MaxAge)))
	return run.request.Now.Sub(written) <= least
}

// session goes through a session up to its first young message: none behind it is
// older.
func (run *retention) session(ctx context.Context, id string) error {
	for message, err := range AllMessages(ctx, run.store, HistoryRequest{SessionID: id}) {
		if err != nil {
			if !run.passes(err) {
				return err
			}
			continue
		}
		if run.young(message.Timestamp) {
			return nil
		}
		if run.request.expired(message) {
			if err := run.remove(ctx, message.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes a message that was expired when its page was read, if it still is.
func (run *retention) remove(ctx context.Context, id string) error {
	if run.request.DryRun {
		run.result.Deleted = append(run.result.Deleted, id)
		return nil
	}
	message, err := messageNow(ctx, run.store, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil || !run.request.expired(message) {
		return err
	}
	deleted, err := run.store.Delete(ctx, DeleteRequest{MessageID: id})
	if deleted.Deleted {
		run.result.Deleted = append(run.result.Deleted, id)
	}
	return err
}
