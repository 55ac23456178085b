package eino

import (
	"context"
	"fmt"

	"example.com/convmem"
)

// MaxCheckPointBytes is the size of the largest checkpoint: a convmem batch, less
// what the parts say about themselves.
const MaxCheckPointBytes = convmem.MaxBatchBytes - 4096

// CheckPoints keeps the checkpoints of interrupted runs: it is the CheckPointStore
// and CheckPointDeleter of eino's packages adk and compose. It may be used by many
// goroutines at once.
//
// Of two concurrent calls of Set with one id the checkpoint of one wins whole, in all
// processes.
type CheckPoints struct{ store Store }

// NewCheckPoints returns the checkpoints in a store, best in a namespace of their
// own. It reads and writes nothing yet.
func NewCheckPoints(store Store) *CheckPoints { return &CheckPoints{store: store} }

// pageOfParts bounds what one Read of parts takes in memory: 8 MiB.
const pageOfParts = 8

// Set replaces the checkpoint of an id of 1 to 256 bytes. It holds from the moment it
// is stored whole; until then Get returns the one before it. An empty checkpoint is
// one too.
//
// Then it deletes what it replaces. Where that fails it returns the error, which says
// that the new checkpoint is set; the next Set or Delete of the id cleans up.
func (c *CheckPoints) Set(ctx context.Context, checkPointID string, checkPoint []byte) error {
	if len(checkPoint) > MaxCheckPointBytes {
		reason := fmt.Sprintf("%d bytes, at most %d", len(checkPoint), MaxCheckPointBytes)
		return fmt.Errorf("eino: set checkpoint: %w", invalid("checkpoint", reason, nil))
	}
	batch := convmem.WriteBatchRequest{Messages: split(checkPointID, checkPoint)}
	written, err := c.store.WriteBatch(ctx, batch)
	if err != nil {
		return fmt.Errorf("eino: set checkpoint: %w", err)
	}
	if err := c.deleteBefore(ctx, checkPointID, written.Results[0].Message.ID); err != nil {
		return fmt.Errorf("eino: the checkpoint is set, but not all of the one before it is deleted: %w", err)
	}
	return nil
}

// Get returns the checkpoint that was set last, in memory of the caller's own. The
// bool is false where none was set or it was deleted.
func (c *CheckPoints) Get(ctx context.Context, checkPointID string) ([]byte, bool, error) {
	for last := ""; ; {
		found, err := c.newest(ctx, checkPointID)
		if err != nil {
			return nil, false, fmt.Errorf("eino: get checkpoint: %w", err)
		}
		if found.complete() {
			return found.join()
		}
		// Parts that vanished while they were read have a successor, which is
		// newer. Without one there is nothing here, or what a Delete left.
		if found.lastID == last {
			return nil, false, nil
		}
		last = found.lastID
	}
}

// Delete deletes the checkpoint of an id. That there is none is no error. When it
// fails the checkpoint may be gone or not; never is a part of it taken for a whole.
func (c *CheckPoints) Delete(ctx context.Context, checkPointID string) error {
	if err := c.deleteBefore(ctx, checkPointID, ""); err != nil {
		return fmt.Errorf("eino: delete checkpoint: %w", err)
	}
	return nil
}

// deleteBefore deletes the parts that are older than a message, or all for "". The
// oldest go first, so that what is left is always the newest: an older checkpoint
// cannot come back when this ends half way.
func (c *CheckPoints) deleteBefore(ctx context.Context, session, end string) error {
	request := convmem.HistoryRequest{SessionID: session, Limit: pageOfParts}
	for message, err := range convmem.AllMessages(ctx, c.store, request) {
		if err != nil {
			return err
		}
		if end != "" && message.ID >= end {
			return nil
		}
		if message.Payload.Type != checkPointType {
			continue
		}
		if _, err := c.store.Delete(ctx, convmem.DeleteRequest{MessageID: message.ID, SessionID: session}); err != nil {
			return err
		}
	}
	return nil
}

// newest collects the parts of the newest checkpoint, as far as they are there.
func (c *CheckPoints) newest(ctx context.Context, session string) (collected, error) {
	var found collected
	request := convmem.HistoryRequest{SessionID: session, Order: convmem.OrderDescending, Limit: pageOfParts}
	for message, err := range convmem.AllMessages(ctx, c.store, request) {
		if err != nil {
			return collected{}, err
		}
		if message.Payload.Type != checkPointType {
			continue
		}
		more, err := found.add(message)
		if err != nil || !more {
			return found, err
		}
	}
	return found, nil
}
