package storetest

import (
	"context"
	"slices"

	"example.com/convmem"
)

// batchCall is a call of a store, with the ids of the Model.
type batchCall struct {
	name   string
	write  *convmem.WriteRequest
	update *convmem.UpdateRequest
	remove *convmem.DeleteRequest
	// several is a batch of the store, and session a deletion of a whole one.
	several *convmem.WriteBatchRequest
	session *convmem.DeleteSessionRequest
	// cancelled: the context ends while the call is queued.
	cancelled bool
}

func (c batchCall) String() string { return c.name }

// answer is what came of a call; only one of the results is set.
type answer struct {
	write   convmem.WriteResult
	update  convmem.UpdateResult
	remove  convmem.DeleteResult
	several convmem.WriteBatchResult
	session convmem.DeleteSessionResult
	err     error
}

// batchStore is a store that can do all that a call may ask of it.
type batchStore interface {
	convmem.Store
	convmem.BatchWriter
	convmem.SessionDeleter
}

func (c batchCall) do(ctx context.Context, s convmem.Store) (a answer) {
	switch {
	case c.write != nil:
		a.write, a.err = s.Write(ctx, *c.write)
	case c.update != nil:
		a.update, a.err = s.Update(ctx, *c.update)
	case c.several != nil:
		a.several, a.err = s.(batchStore).WriteBatch(ctx, *c.several)
	case c.session != nil:
		a.session, a.err = s.(batchStore).DeleteSession(ctx, *c.session)
	default:
		a.remove, a.err = s.Delete(ctx, *c.remove)
	}
	return a
}

// changed reports whether a call that succeeded wrote something.
func (a answer) changed() bool {
	fresh := slices.ContainsFunc(a.several.Results, func(r convmem.WriteResult) bool { return !r.Replayed })
	return a.err == nil && (a.write.Message.ID != "" && !a.write.Replayed || a.update.Changed || a.remove.Deleted || fresh || a.session.Deleted > 0)
}
