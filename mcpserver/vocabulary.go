package mcpserver

import "example.com/convmem"

// The values of every enumeration of the contract.
var (
	roles         = []string{string(convmem.RoleUser), string(convmem.RoleAssistant), string(convmem.RoleSystem), string(convmem.RoleTool)}
	tiers         = []string{string(convmem.TierShort), string(convmem.TierMid), string(convmem.TierLong), string(convmem.TierDiscard)}
	kinds         = []string{string(convmem.KindConversation), string(convmem.KindEpisode), string(convmem.KindSemantic), string(convmem.KindProcedure), string(convmem.KindPreference), string(convmem.KindSummary)}
	relationTypes = []string{string(convmem.RelationDependsOn), string(convmem.RelationDerivedFrom), string(convmem.RelationSupersedes), string(convmem.RelationRelatedTo)}
	orders        = []string{string(convmem.OrderAscending), string(convmem.OrderDescending)}
)

// The views of read_messages.
const (
	viewHistory  = "history"
	viewContext  = "context"
	viewSessions = "sessions"
)

// maxMoment is the last Unix millisecond that a message id can carry.
const maxMoment = 1<<48 - 1

// Parameters that several tools have.
var cutParameter = parameter{name: "max_content_characters", kind: kindInteger, least: 1, most: convmem.MaxContentBytes,
	about: "Cut longer content and mark it content_truncated."}

func messageParameter(about string) parameter {
	return parameter{name: "message_id", kind: kindText, required: true, about: about}
}

func metadataParameter(about string) parameter {
	return parameter{name: "metadata_json", kind: kindRecord, encoded: true, fields: metadataFields, about: about}
}

// metadataFields are what metadata_json may hold. The Store knows the limits
// of its texts and lists.
var metadataFields = []parameter{
	{name: "tool_call_id", kind: kindText},
	{name: "tags", kind: kindTexts},
	{name: "memory_tier", kind: kindText, choices: tiers},
	{name: "memory_kind", kind: kindText, choices: kinds},
	{name: "importance", kind: kindInteger, most: convmem.MaxImportance},
	{name: "summary", kind: kindText},
	{name: "relations", kind: kindRecords, fields: []parameter{
		{name: "type", kind: kindText, required: true, choices: relationTypes},
		{name: "message_id", kind: kindText, required: true},
	}},
	{name: "source_message_ids", kind: kindTexts},
	{name: "occurred_at", kind: kindInteger, most: maxMoment},
}

// filterFields are what filters_json may hold.
var filterFields = []parameter{
	{name: "kinds", kind: kindTexts, choices: kinds},
	{name: "tiers", kind: kindTexts, choices: tiers},
	{name: "tags", kind: kindTexts},
	{name: "roles", kind: kindTexts, choices: roles},
	{name: "since", kind: kindInteger, most: maxMoment},
	{name: "until", kind: kindInteger, most: maxMoment},
}

var (
	onlyHistory = []string{viewHistory}
	onlyContext = []string{viewContext}
	paged       = []string{viewHistory, viewSessions}
)

var readParameters = []parameter{
	{name: "view", kind: kindText, blank: true, choices: []string{viewHistory, viewContext, viewSessions}, about: "Default history."},
	{name: "session_id", kind: kindText, views: onlyHistory, about: "history: the session to read, 1-256 bytes."},
	{name: "message_id", kind: kindText, views: onlyContext, about: "context: the message to look around, 26 characters."},
	{name: "limit", kind: kindInteger, least: 1, most: convmem.MaxReadLimit, views: paged, standard: "100", about: "history, sessions: items on a page, 1-1000, default 100."},
	{name: "cursor", kind: kindText, blank: true, views: paged, about: "history, sessions: nextCursor of the page before."},
	{name: "order", kind: kindText, choices: orders, views: onlyHistory, standard: "asc", about: "history: asc (default) or desc, newest first."},
	{name: "max_characters", kind: kindInteger, least: 1, most: convmem.MaxCharacterBudget, views: onlyHistory,
		about: "history: end the page before its content passes this many characters."},
	cutParameter,
	{name: "before", kind: kindInteger, most: convmem.MaxNeighbours, views: onlyContext, standard: "1", about: "context: earlier neighbours, 0-10, default 1."},
	{name: "after", kind: kindInteger, most: convmem.MaxNeighbours, views: onlyContext, standard: "1", about: "context: later neighbours, 0-10, default 1."},
	{name: "relation_depth", kind: kindInteger, most: convmem.MaxRelationDepth, views: onlyContext, standard: "1", about: "context: hops along relations, 0-2, default 1."},
	{name: "relation_types_json", kind: kindTexts, encoded: true, choices: relationTypes, views: onlyContext,
		about: `context: JSON array of types to follow, default all: ["supersedes"]`},
}
