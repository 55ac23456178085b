package eino

import (
	"cmp"
	"context"
	"fmt"

	"example.com/convmem"
)

// MaxCheckPointBytes is the size of the largest checkpoint: a convmem batch, less
// what the parts say about themselves.
const MaxCheckPointBytes = convmem.MaxBatchBytes - 4096

// checkPointSession is what the name of a checkpoint's session begins with, so that no
// conversation shares it. It is in stored data and must never change.
const checkPointSession = "eino.checkpoint/"

// MaxCheckPointIDBytes is the size of the longest id of a checkpoint.
const MaxCheckPointIDBytes = convmem.MaxSessionIDBytes - len(checkPointSession)

// CheckPoints keeps the checkpoints of interrupted runs: it is the CheckPointStore
// and CheckPointDeleter of eino's packages adk and compose. It may be used by many
// goroutines at once.
//
// Their ids are 1 to [MaxCheckPointIDBytes] bytes of UTF-8. Of two concurrent calls of
// Set with one id the checkpoint of one wins whole, in all processes.
//
// Set and Delete do not end with their context: eino calls them when a run ends, with
// the context whose cancellation ended it. Options.LockWait of the store bounds how
// long they wait for other processes.
type CheckPoints struct{ store Store }

// NewCheckPoints returns the checkpoints in a store, best in a namespace of their
// own. It reads and writes nothing yet.
func NewCheckPoints(store Store) *CheckPoints { return &CheckPoints{store: store} }

// sessionOf returns the name of the session that holds a checkpoint and nothing else.
func sessionOf(op, checkPointID string) (string, error) {
	if n := len(checkPointID); n < 1 || n > MaxCheckPointIDBytes {
		return "", invalid(op, "checkPointID", fmt.Sprintf("%d bytes, want 1 to %d", n, MaxCheckPointIDBytes), nil)
	}
	return checkPointSession + checkPointID, nil
}

// Set replaces the checkpoint of an id. It holds from the moment it is stored whole;
// until then Get returns the one before it. An empty checkpoint is one too.
//
// Then it deletes what it replaces. Where that fails it returns the error, which says
// that the new checkpoint is set; the next Set or Delete of the id cleans up. Damaged
// parts stay, and every Set reports them, until a Delete of the id.
func (c *CheckPoints) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	ctx = context.WithoutCancel(ctx)
	session, err := sessionOf("write batch", checkPointID)
	if err == nil && len(checkPoint) > MaxCheckPointBytes {
		err = invalid("write batch", "checkPoint", fmt.Sprintf("%d bytes, at most %d", len(checkPoint), MaxCheckPointBytes), nil)
	}
	var written convmem.WriteBatchResult
	if err == nil {
		written, err = c.store.WriteBatch(ctx, convmem.WriteBatchRequest{Messages: split(session, checkPoint)})
	}
	if err != nil {
		return fmt.Errorf("eino: set checkpoint: %w", err)
	}
	if err := c.deleteBefore(ctx, session, written.Results[0].Message.ID); err != nil {
		return fmt.Errorf("eino: the checkpoint is set, but not all of the one before it is deleted: %w", err)
	}
	return nil
}

// Get returns the checkpoint that was set last, in memory of the caller's own. The
// bool is false where none was set or it was deleted. A checkpoint that is damaged or
// not whole fails with [convmem.CodeCorrupt]; Set replaces it and Delete removes it.
func (c *CheckPoints) Get(ctx context.Context, checkPointID string) ([]byte, bool, error) {
	session, err := sessionOf("read", checkPointID)
	for last := ""; err == nil; {
		var found collected
		found, err = c.newest(ctx, session)
		switch {
		case err != nil:
		case found.lastID == "":
			return nil, false, nil
		case found.complete():
			return found.join()
		case found.lastID == last:
			err = unreadable(last, "the checkpoint that ends here is not whole", nil)
		}
		// Parts that vanished while they were read have a successor, which is
		// newer: look again.
		last = found.lastID
	}
	return nil, false, fmt.Errorf("eino: get checkpoint: %w", err)
}

// Delete deletes the checkpoint of an id, damaged parts with it: all at once, or
// nothing when it fails. That there is none is no error.
func (c *CheckPoints) Delete(ctx context.Context, checkPointID string) error {
	session, err := sessionOf("delete session", checkPointID)
	if err == nil {
		_, err = c.store.DeleteSession(context.WithoutCancel(ctx), convmem.DeleteSessionRequest{SessionID: session})
	}
	if err != nil {
		return fmt.Errorf("eino: delete checkpoint: %w", err)
	}
	return nil
}

// deleteBefore deletes the parts that are older than a message. A damaged one cannot be
// read, so nothing says whether it is older: it stays, and is the error in the end.
// Pages of one part hold nothing that is not needed.
func (c *CheckPoints) deleteBefore(ctx context.Context, session, end string) error {
	var damage error
	request := convmem.HistoryRequest{SessionID: session, Limit: 1}
	for message, err := range convmem.AllMessages(ctx, c.store, request) {
		if err != nil {
			damage = cmp.Or(damage, err)
			continue // behind it, or out of the loop where there is no way
		}
		if message.ID >= end {
			break
		}
		if _, err := c.store.Delete(ctx, convmem.DeleteRequest{MessageID: message.ID, SessionID: session}); err != nil {
			return cmp.Or(damage, err)
		}
	}
	return damage
}

// pageOfParts bounds what one Read of a Get takes in memory: 8 MiB.
const pageOfParts = 8

// newest collects the parts of the newest checkpoint, as far as they are there.
func (c *CheckPoints) newest(ctx context.Context, session string) (collected, error) {
	var found collected
	request := convmem.HistoryRequest{SessionID: session, Order: convmem.OrderDescending, Limit: pageOfParts}
	for message, err := range convmem.AllMessages(ctx, c.store, request) {
		if err != nil {
			return collected{}, err
		}
		if more, err := found.add(message); err != nil || !more {
			return found, err
		}
	}
	return found, nil
}
