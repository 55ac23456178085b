package convmem

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.com/convmem/store"
)

// Namespace is a [Store] within a store: a part of a DB that has its own
// sessions, messages, idempotency keys, cursors and search statistics. Nothing
// that is written through one namespace can be read, found, counted, changed or
// deleted through another, by whatever id, relation, cursor or query; an id of
// another namespace is one that does not exist. It suits a tenant, a user or an
// agent: a namespace without messages costs no memory.
//
// A Namespace may be used by many goroutines at once, also several of one name.
// It needs no closing and ends with its DB.
type Namespace struct {
	view DB
	err  error // of the name
}

var (
	_ Store          = (*Namespace)(nil)
	_ BatchWriter    = (*Namespace)(nil)
	_ SessionDeleter = (*Namespace)(nil)
)

// Namespace returns the namespace of a name of up to MaxNamespaceBytes of UTF-8.
// It exists as soon as something is written to it; asking for it writes nothing.
// "" names the part that the DB's own methods see. Every method of a Namespace
// whose name is wrong fails with [CodeValidation].
func (db *DB) Namespace(name string) *Namespace {
	n := &Namespace{view: *db, err: checkText("namespace", name, 0, MaxNamespaceBytes)}
	n.view.namespace = name
	return n
}

// Namespaces returns the names of the namespaces that have live messages, in
// ascending order of their bytes; "" is among them when the DB's own methods see
// a message.
func (db *DB) Namespaces(ctx context.Context) ([]string, error) {
	var names []string
	err := db.log.View(ctx, func(v *store.View) error {
		names = v.Sink().(*catalog).inhabited()
		return nil
	})
	if err != nil {
		return nil, fail("namespaces", err)
	}
	return names, nil
}

// inhabited returns the names of the namespaces that have live messages.
func (c *catalog) inhabited() []string {
	names := slices.Sorted(maps.Keys(c.spaces))
	return slices.DeleteFunc(names, func(name string) bool { return c.spaces[name].index.Len() == 0 })
}

// within runs a method of a namespace whose name is right.
func within[Request, Result any](
	ctx context.Context, n *Namespace, op string, r Request, method func(*DB, context.Context, Request) (Result, error),
) (Result, error) {
	if n.err != nil {
		var none Result
		return none, fail(op, n.err)
	}
	return method(&n.view, ctx, r)
}

// Write implements [Store], as [DB.Write] does.
func (n *Namespace) Write(ctx context.Context, r WriteRequest) (WriteResult, error) {
	return within(ctx, n, "write", r, (*DB).Write)
}

// WriteBatch implements [BatchWriter], as [DB.WriteBatch] does.
func (n *Namespace) WriteBatch(ctx context.Context, r WriteBatchRequest) (WriteBatchResult, error) {
	return within(ctx, n, "write batch", r, (*DB).WriteBatch)
}

// Update implements [Store], as [DB.Update] does.
func (n *Namespace) Update(ctx context.Context, r UpdateRequest) (UpdateResult, error) {
	return within(ctx, n, "update", r, (*DB).Update)
}

// Read implements [Store], as [DB.Read] does.
func (n *Namespace) Read(ctx context.Context, r ReadRequest) (ReadResult, error) {
	return within(ctx, n, "read", r, (*DB).Read)
}

// Search implements [Store], as [DB.Search] does. Scores depend on the messages
// of the namespace alone.
func (n *Namespace) Search(ctx context.Context, r SearchRequest) (SearchResult, error) {
	return within(ctx, n, "search", r, (*DB).Search)
}

// Delete implements [Store], as [DB.Delete] does.
func (n *Namespace) Delete(ctx context.Context, r DeleteRequest) (DeleteResult, error) {
	return within(ctx, n, "delete", r, (*DB).Delete)
}

// DeleteSession implements [SessionDeleter], as [DB.DeleteSession] does.
func (n *Namespace) DeleteSession(ctx context.Context, r DeleteSessionRequest) (DeleteSessionResult, error) {
	return within(ctx, n, "delete session", r, (*DB).DeleteSession)
}

// Rebuild implements [Store]. There is one log for all namespaces, so it rebuilds
// the whole store: MessagesIndexed counts the messages of the namespace, the rest
// of the result is about the store. A damaged message of another namespace makes it
// fail too, and only who can reach that message can delete it.
func (n *Namespace) Rebuild(ctx context.Context, r RebuildRequest) (RebuildResult, error) {
	return within(ctx, n, "rebuild", r, (*DB).Rebuild)
}

// Health implements [Store]. ActiveMessages and the parts of Memory but
// StoreEntries are those of the namespace, the rest is about the store.
func (n *Namespace) Health(ctx context.Context, r HealthRequest) (HealthResult, error) {
	return within(ctx, n, "health", r, (*DB).Health)
}

// discreet takes the id of another namespace's message out of an error about its
// damage. The owner of the DB, who can delete any message, is told.
func (db *DB) discreet(err error) error {
	var damage *store.CorruptError
	if db.namespace == "" || !errors.As(err, &damage) || damage.ID.IsZero() {
		return err
	}
	own := false
	looked := db.log.View(context.Background(), func(v *store.View) error {
		own = v.Sink().(*catalog).space(db.namespace).index.Contains(damage.ID)
		return nil
	})
	if own && looked == nil {
		return err
	}
	return &Error{Code: CodeCorrupt, Message: fmt.Sprintf("a message of another namespace, %s at offset %d: %s", damage.File, damage.Offset, damage.Reason)}
}
