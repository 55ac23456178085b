// Package convmem is a durable memory of conversations for agents.
//
// A [Store] keeps messages under session ids, in the order they were written,
// and finds them again by history, by neighbourhood and relations, and by text
// in any language. [Open] returns one that lives in a directory:
//
//	db, err := convmem.Open(ctx, "memory", nil)
//	...
//	defer db.Close()
//	_, err = db.Write(ctx, convmem.WriteRequest{
//		SessionID: "monday", Role: convmem.RoleUser, Content: "We chose PostgreSQL.",
//	})
//	found, err := db.Search(ctx, convmem.SearchRequest{Query: "database choice postgresql"})
//
// # Durability
//
// A change is on stable storage before its call returns and before any reader
// sees it. A call that fails with [CodeIO] after a failed sync has an unknown
// outcome: the change may appear after the store is opened again. Use
// [WriteRequest.IdempotencyKey] to repeat a write safely.
//
// # Concurrency
//
// A Store may be used by many goroutines at once. Every value that goes in or
// comes out is a copy: the caller and the store never share memory.
//
// # Tenants
//
// [DB.Namespace] returns a Store that is a part of a DB: it has its own sessions,
// keys, cursors and search statistics, and nothing in it can be reached from
// another. One DB holds thousands of small ones.
//
// # Beyond the seven methods
//
// Store has seven methods for good, so that any decorator or client can have
// them all. What else a Store can do it says by implementing [BatchWriter] or
// [SessionDeleter]. A [DB] can also check itself ([DB.Verify]), copy itself
// ([DB.Backup]) and turn into text and back ([DB.Export], [DB.Import]).
//
// # What it is not
//
// It keeps what it is told: it does not summarise, embed or forget by itself.
// Search knows words, not meanings; [Options.Reranker] takes a model that does.
// It works on local file systems, in one directory, and its index is in memory.
//
// # Limits
//
// The Max constants say how large each value may be. Larger values are refused
// with [CodeValidation]; nothing is ever cut silently.
package convmem

import (
	"context"
	"time"
)

// Limits of every value a caller may pass. Sizes are in bytes of UTF-8.
const (
	MaxSessionIDBytes      = 256
	MaxContentBytes        = 1 << 20
	MaxToolCallIDBytes     = 256
	MaxTags                = 32
	MaxTagBytes            = 128
	MaxImportance          = 100
	MaxSummaryBytes        = 4096
	MaxRelations           = 32
	MaxSourceMessageIDs    = 64
	MaxQueryBytes          = 4096
	MaxIdempotencyKeyBytes = 256
	MaxPayloadTypeBytes    = 256
	MaxPayloadBytes        = 1 << 20 // Payload.Data
	MaxNamespaceBytes      = 256
	MaxBatchMessages       = 1000     // messages in one WriteBatch
	MaxBatchBytes          = 64 << 20 // content and payloads in one WriteBatch

	MaxReadLimit       = 1000
	MaxSearchLimit     = 100
	MaxNeighbours      = 10 // before and after in a context read
	MaxRelationDepth   = 2
	MaxContextSize     = 3       // neighbours of a search hit, each side
	MaxCharacterBudget = 8 << 20 // HistoryRequest.MaxCharacters
	MaxContextMessages = 50      // messages in one context read
)

// Defaults of the values whose zero means "not given".
const (
	DefaultReadLimit     = 100
	DefaultSearchLimit   = 20
	DefaultImportance    = 50
	DefaultNeighbours    = 1
	DefaultRelationDepth = 1
)

// Role says who spoke.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleTool      Role = "tool"
)

// MemoryTier says how long a message is meant to matter. The store keeps every
// tier alike; the tier is for filters and for the caller's own retention.
type MemoryTier string

// The tiers. The default is TierShort.
const (
	TierShort   MemoryTier = "short"
	TierMid     MemoryTier = "mid"
	TierLong    MemoryTier = "long"
	TierDiscard MemoryTier = "discard"
)

// MemoryKind says what sort of memory a message is.
type MemoryKind string

// The kinds. The default is KindConversation.
const (
	KindConversation MemoryKind = "conversation"
	KindEpisode      MemoryKind = "episode"
	KindSemantic     MemoryKind = "semantic"
	KindProcedure    MemoryKind = "procedure"
	KindPreference   MemoryKind = "preference"
	KindSummary      MemoryKind = "summary"
)

// RelationType says how a message relates to another.
type RelationType string

// The relation types, in the order in which context reads list them.
const (
	RelationDependsOn   RelationType = "depends_on"
	RelationDerivedFrom RelationType = "derived_from"
	RelationSupersedes  RelationType = "supersedes"
	RelationRelatedTo   RelationType = "related_to"
)

// Relation is a directed link to another message. The target need not exist;
// it then reads as deleted.
type Relation struct {
	Type      RelationType
	MessageID string
}

// Message is one message as the store holds it. Times are UTC with millisecond
// precision.
type Message struct {
	// ID is a canonical ULID. The order of ids is the order of creation.
	ID        string
	SessionID string
	// Timestamp is the creation time that ID carries.
	Timestamp time.Time
	Role      Role
	// Content is kept byte for byte.
	Content string
	// Revision is 1 when written and grows by one with every update that
	// changes something.
	Revision int64
	// UpdatedAt never precedes Timestamp and never goes back.
	UpdatedAt time.Time
	Metadata  Metadata
	// Payload is the caller's own. No tool of package mcpserver shows it.
	Payload Payload

	// ContentTruncated is set when Content was cut because the request asked
	// for it with MaxContentCharacters; ContentBytes is then the full size.
	ContentTruncated bool
	ContentBytes     int
}

// Payload is data of the caller that a message carries, such as the event of a
// framework that the message stands for: kept byte for byte, never searched. The
// zero value is no payload.
type Payload struct {
	Type string // what Data is, up to MaxPayloadTypeBytes of UTF-8
	Data []byte // up to MaxPayloadBytes
}

// Metadata is what a message says about itself, every field filled in.
type Metadata struct {
	ToolCallID       string // "" when unset
	Tags             []string
	Tier             MemoryTier
	Kind             MemoryKind
	Importance       int    // 0 to MaxImportance
	Summary          string // "" when unset
	Relations        []Relation
	SourceMessageIDs []string
	// OccurredAt is when the message was said if that is not when it was
	// written. The zero Time means unset.
	OccurredAt time.Time
}

// MetadataPatch gives metadata to a write, over the defaults, or to an update,
// over what the message has. A field that is nil, "" or the zero Time is not
// given and leaves what is there.
type MetadataPatch struct {
	ToolCallID *string // "" clears
	// Tags replaces all tags; an empty, non-nil slice clears them. A repeated
	// tag folds into its first occurrence.
	Tags       []string
	Tier       MemoryTier
	Kind       MemoryKind
	Importance *int
	Summary    *string // "" clears
	// Relations replaces all relations; an empty, non-nil slice clears them.
	// Exact duplicates fold into the first.
	Relations []Relation
	// SourceMessageIDs replaces all sources; an empty, non-nil slice clears
	// them. Duplicates fold into the first.
	SourceMessageIDs []string
	OccurredAt       time.Time
}

// Store is a memory of conversations. *[DB] is the durable one; package
// store/storetest checks that any other keeps the same promises. The interface
// never gains a method.
//
// Every error has a [Code]; see [CodeOf]. A context that is cancelled before
// anything was stored gives [CodeBusy]; after that point it no longer matters.
type Store interface {
	// Write stores a new message under a new id.
	Write(ctx context.Context, r WriteRequest) (WriteResult, error)

	// Update changes the content or metadata of a live message and keeps its
	// identity, session, role and creation time. It checks the arguments, that
	// the message exists ([CodeNotFound]), the expected revision
	// ([CodeConflict]), and then changes it.
	Update(ctx context.Context, r UpdateRequest) (UpdateResult, error)

	// Read returns one page of a session's history, the surroundings of one
	// message, or one page of the list of sessions.
	Read(ctx context.Context, r ReadRequest) (ReadResult, error)

	// Search ranks messages by how well content, summary and tags match a
	// text. The query has no syntax, so no text is an error. It stores nothing.
	Search(ctx context.Context, r SearchRequest) (SearchResult, error)

	// Delete hides a message at once. Its bytes leave the disk with the next
	// Rebuild. That there was nothing to delete is a result, not an error.
	Delete(ctx context.Context, r DeleteRequest) (DeleteResult, error)

	// Rebuild compacts the store to its live messages, leaving no byte of
	// what was deleted or overwritten before it began, and builds a fresh
	// index. Other calls go on meanwhile; a second Rebuild is [CodeBusy].
	Rebuild(ctx context.Context, r RebuildRequest) (RebuildResult, error)

	// Health reports sizes, counters and the last problem.
	Health(ctx context.Context, r HealthRequest) (HealthResult, error)
}
