package convmem

import "time"

// WriteRequest is a new message.
type WriteRequest struct {
	SessionID string // 1 to MaxSessionIDBytes
	Role      Role
	Content   string // 1 to MaxContentBytes, any valid UTF-8
	Metadata  MetadataPatch
	Payload   Payload
	// IdempotencyKey, when not "", makes the write happen at most once within
	// its session for as long as the message lives: repeating the request
	// returns that message as it is now. A request with the same key that
	// says something else is a [CodeConflict].
	IdempotencyKey string
}

// WriteResult is the message as stored.
type WriteResult struct {
	Message Message
	// Replayed is true when an earlier request with the same idempotency key
	// had already written the message.
	Replayed bool
}

// UpdateRequest changes a message. At least one of Content, Metadata and Payload
// must be given.
type UpdateRequest struct {
	MessageID string
	Content   *string // 1 to MaxContentBytes
	Metadata  *MetadataPatch
	Payload   *Payload // replaces the old one; the zero Payload clears it
	// ExpectedRevision, when not 0, must be the current revision.
	ExpectedRevision int64
}

// UpdateResult is the message after the update.
type UpdateResult struct {
	// Changed is false when the request asked for what was there already;
	// nothing was then written.
	Changed bool
	Message Message
}

// ReadRequest asks for exactly one of its views.
type ReadRequest struct {
	History  *HistoryRequest
	Context  *ContextRequest
	Sessions *SessionsRequest
}

// ReadResult holds the view that was asked for.
type ReadResult struct {
	History  *HistoryResult
	Context  *ContextResult
	Sessions *SessionsResult
}

// Order is the direction of a history page.
type Order string

// The orders. The default is OrderAscending.
const (
	OrderAscending  Order = "asc"
	OrderDescending Order = "desc" // newest first
)

// HistoryRequest asks for live messages of one session in creation order.
// Following NextCursor visits every message that stays live exactly once.
// Messages written meanwhile come at the end of an ascending run and not at all
// in a descending one.
//
// A message whose stored bytes are damaged ends the page before it. The next
// page, which begins with it, fails with [CodeCorrupt]; the error names the
// message, and its NextCursor goes on behind it. Pages of sessions do the same
// where the representative message is damaged.
type HistoryRequest struct {
	SessionID string // an unknown session has an empty history
	Order     Order
	Limit     int // 1 to MaxReadLimit; 0 means DefaultReadLimit
	// Cursor continues the run that returned it: same session, same order.
	// It survives restarts, updates, deletes and rebuilds.
	Cursor string
	// MaxCharacters, when not 0, ends the page before the content of its
	// messages, as it is returned, passes that many Unicode code points. The
	// first message is always there.
	MaxCharacters int
	// MaxContentCharacters, when not 0, cuts each content to at most so many
	// Unicode code points, on a grapheme boundary: nothing is left of content
	// whose first grapheme cluster alone is longer. See
	// Message.ContentTruncated. 1 to MaxContentBytes.
	MaxContentCharacters int
}

// HistoryResult is one page.
type HistoryResult struct {
	Messages   []Message
	NextCursor string // "" on the last page
}

// ContextRequest asks for a message, its neighbours in the session and the
// messages that relations lead to.
type ContextRequest struct {
	MessageID string
	Before    *int // 0 to MaxNeighbours; nil means DefaultNeighbours
	After     *int
	// RelationDepth is how many hops to follow, 0 to MaxRelationDepth; nil
	// means DefaultRelationDepth.
	RelationDepth *int
	// RelationTypes limits every hop to these types; empty means all.
	RelationTypes        []RelationType
	MaxContentCharacters int
}

// Direction says which end of a relation the reached message is.
type Direction string

// The directions.
const (
	Outgoing Direction = "outgoing"
	Incoming Direction = "incoming"
)

// ContextResult is a message and its surroundings, at most MaxContextMessages
// messages in all.
type ContextResult struct {
	Message Message
	// Before and After are neighbours in the same session, in creation order.
	Before, After []Message
	// Relations runs breadth first and never follows a deleted message. Each
	// message stands once, at its least depth; order is depth, outgoing before
	// incoming, relation type as declared, then id.
	Relations []RelatedMessage
	Session   SessionRef
	// Truncated is true when a limit cut something off.
	Truncated bool
}

// RelatedMessage is a message that a relation leads to.
type RelatedMessage struct {
	Type      RelationType
	Direction Direction
	Depth     int
	MessageID string
	// Message is nil when the target is deleted or never existed.
	Message *Message
}

// SessionRef names a session and counts its live messages.
type SessionRef struct {
	SessionID    string
	MessageCount int
}

// SessionsRequest asks for sessions, newest activity first.
type SessionsRequest struct {
	Limit  int // 1 to MaxReadLimit; 0 means DefaultReadLimit
	Cursor string
	// MaxContentCharacters cuts RepresentativeSummary further.
	MaxContentCharacters int
}

// SessionsResult is one page. Sessions that existed at the first page and stay
// appear once in a run; sessions begun later do not.
type SessionsResult struct {
	Sessions   []SessionInfo
	NextCursor string
}

// SessionInfo describes one session's live messages.
type SessionInfo struct {
	SessionID    string
	MessageCount int
	KindCounts   map[MemoryKind]int // all six kinds
	// RepresentativeSummary is the newest summary, else the newest content,
	// cut to 512 bytes on a character boundary.
	RepresentativeSummary string
	StartedAt             time.Time
	LastMessageAt         time.Time
}

// Filters narrow a search before ranking. Values inside one list are
// alternatives, except Tags, of which a message must have all; lists combine
// with AND; an empty list filters nothing.
type Filters struct {
	Kinds []MemoryKind
	Tiers []MemoryTier
	Tags  []string // exact
	Roles []Role
	// Since and Until bound, inclusively and in whole milliseconds, when a
	// message was said: OccurredAt where set, else Timestamp. The zero Time
	// bounds nothing.
	Since, Until time.Time
}

// SearchRequest is a text to look for.
type SearchRequest struct {
	Query         string // 1 to MaxQueryBytes, any valid UTF-8
	SessionID     string // "" searches all sessions
	Filters       Filters
	MinImportance int // 0 to MaxImportance
	ContextSize   int // neighbours to return with each hit, 0 to MaxContextSize
	Limit         int // 1 to MaxSearchLimit; 0 means DefaultSearchLimit
	// MaxContentCharacters cuts longer content; see HistoryRequest.
	MaxContentCharacters int
}

// SearchResult holds hits by falling score, then importance, then newer
// timestamp, then greater id. The same store gives the same hits in the same
// order every time, and a smaller limit gives the first hits of a larger one.
type SearchResult struct {
	Hits []Hit
	// Truncated is true when the size budget or a damaged message cut hits.
	Truncated bool
	// RerankError says why the hits are not in the order of Options.Reranker,
	// which failed. It is "" otherwise, and without a Reranker.
	RerankError string
}

// Field names a part of a message that search looks at.
type Field string

// The fields, in the order in which MatchedFields lists them.
const (
	FieldContent Field = "content"
	FieldSummary Field = "summary"
	FieldTags    Field = "tags"
)

// ScoreBreakdown is the share of each field in a score.
type ScoreBreakdown struct {
	Content, Summary, Tags float64
}

// Hit is one search result.
type Hit struct {
	Message
	Score         float64 // the sum of Breakdown
	Breakdown     ScoreBreakdown
	MatchedFields []Field
	// RelationCount counts relations from and to live messages.
	RelationCount int
	// SupersededBy holds the live messages that supersede this one, oldest
	// first.
	SupersededBy []string
	// Before and After are the neighbours that ContextSize asked for.
	Before, After []Message
}

// DeleteRequest names a message.
type DeleteRequest struct {
	MessageID string
	// SessionID, when not "", is a guard: a message of another session is not
	// deleted.
	SessionID string
}

// DeleteResult says whether there was something to delete.
type DeleteResult struct {
	// Deleted is false when the message never existed, is deleted already, or
	// the guard did not match.
	Deleted bool
}

// RebuildRequest has no parameters.
type RebuildRequest struct{}

// RebuildResult says what a rebuild did.
type RebuildResult struct {
	MessagesIndexed int64
	RecordsRemoved  int64
	BytesBefore     int64
	BytesAfter      int64
}

// HealthRequest has no parameters.
type HealthRequest struct{}

// HealthStatus is the one-word summary.
type HealthStatus string

// The statuses.
const (
	HealthOK       HealthStatus = "OK"
	HealthDegraded HealthStatus = "DEGRADED"
)

// HealthResult describes a store. Sizes are bytes.
type HealthResult struct {
	// Status is HealthOK while LastError is "".
	Status         HealthStatus
	FormatVersion  int
	LogSize        int64
	SnapshotSize   int64
	ActiveMessages int64
	// DeletedMessages, UpdateRecords and DeadBytes describe the live log and
	// are what a rebuild would remove.
	DeletedMessages int64
	LastSequence    int64 // never falls
	UpdateRecords   int64
	DeadBytes       int64
	Memory          MemoryEstimate
	IO              IOCounters
	// RecoveredTail is true when Open cut an unfinished write off the log.
	RecoveredTail bool
	SnapshotValid bool
	LastError     string
}

// MemoryEstimate counts, in bytes, what the store itself allocates for each
// part; the Go runtime's own overhead is not in it.
type MemoryEstimate struct {
	StoreEntries, Bodies, Metadata           int64
	SearchIndex, HistoryIndex, RelationIndex int64
}

// Total is the sum of all parts.
func (m MemoryEstimate) Total() int64 {
	return m.StoreEntries + m.Bodies + m.Metadata + m.SearchIndex + m.HistoryIndex + m.RelationIndex
}

// IOCounters count file operations since the store was opened.
type IOCounters struct {
	WriteBytes    int64
	WriteCalls    int64
	FlushCalls    int64
	TruncateCalls int64
	ReplaceCalls  int64
}
