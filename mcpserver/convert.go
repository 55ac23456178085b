package mcpserver

import "example.com/convmem"

// schemaVersion numbers the shapes of results.go. It grows when one of them
// changes in a way that a reader of the old one could not take.
const schemaVersion = 1

// list converts a slice. The result is never nil, which JSON would call null.
func list[From, To any](from []From, convert func(From) To) []To {
	to := make([]To, len(from))
	for i, item := range from {
		to[i] = convert(item)
	}
	return to
}

func text[T ~string](s T) string { return string(s) }

func newMessage(m convmem.Message) message {
	out := message{
		MessageID: m.ID,
		SessionID: m.SessionID,
		Timestamp: m.Timestamp.UnixMilli(),
		Role:      string(m.Role),
		Content:   m.Content,
		Revision:  m.Revision,
		UpdatedAt: m.UpdatedAt.UnixMilli(),
		Metadata:  newMetadata(m.Metadata),
	}
	if m.ContentTruncated {
		out.ContentTruncated, out.ContentBytes = true, m.ContentBytes
	}
	return out
}

func newMetadata(m convmem.Metadata) metadata {
	out := metadata{
		ToolCallID:       m.ToolCallID,
		Tags:             list(m.Tags, text),
		Tier:             string(m.Tier),
		Kind:             string(m.Kind),
		Importance:       m.Importance,
		Summary:          m.Summary,
		Relations:        list(m.Relations, newRelation),
		SourceMessageIDs: list(m.SourceMessageIDs, text),
	}
	if !m.OccurredAt.IsZero() {
		out.OccurredAt = new(m.OccurredAt.UnixMilli())
	}
	return out
}

func newRelation(r convmem.Relation) relation {
	return relation{Type: string(r.Type), MessageID: r.MessageID}
}

func newHistory(r convmem.HistoryResult) historyDocument {
	return historyDocument{NextCursor: r.NextCursor, History: list(r.Messages, newMessage)}
}

func newContext(r convmem.ContextResult) contextDocument {
	return contextDocument{
		Truncated: r.Truncated,
		Session:   sessionRef{SessionID: r.Session.SessionID, MessageCount: r.Session.MessageCount},
		Message:   newMessage(r.Message),
		Around:    newNeighbours(r.Before, r.After),
		Relations: list(r.Relations, newRelated),
	}
}

func newNeighbours(before, after []convmem.Message) neighbours {
	return neighbours{Before: list(before, newMessage), After: list(after, newMessage)}
}

func newRelated(r convmem.RelatedMessage) related {
	out := related{Type: string(r.Type), Direction: string(r.Direction), Depth: r.Depth}
	if r.Message == nil {
		out.MessageID, out.Status = r.MessageID, "deleted"
		return out
	}
	out.Message = new(newMessage(*r.Message))
	return out
}

func newSessions(r convmem.SessionsResult) sessionsDocument {
	return sessionsDocument{NextCursor: r.NextCursor, Sessions: list(r.Sessions, newSessionInfo)}
}

func newSessionInfo(s convmem.SessionInfo) sessionInfo {
	return sessionInfo{
		SessionID:    s.SessionID,
		MessageCount: s.MessageCount,
		KindCounts: kindCounts{
			Conversation: s.KindCounts[convmem.KindConversation],
			Episode:      s.KindCounts[convmem.KindEpisode],
			Semantic:     s.KindCounts[convmem.KindSemantic],
			Procedure:    s.KindCounts[convmem.KindProcedure],
			Preference:   s.KindCounts[convmem.KindPreference],
			Summary:      s.KindCounts[convmem.KindSummary],
		},
		RepresentativeSummary: s.RepresentativeSummary,
		StartedAt:             s.StartedAt.UnixMilli(),
		LastMessageAt:         s.LastMessageAt.UnixMilli(),
	}
}

// newSearch gives every hit a preview, an empty one too, when previews were
// asked for.
func newSearch(r convmem.SearchResult, previews bool) searchDocument {
	return searchDocument{
		Truncated: r.Truncated, RerankError: r.RerankError,
		Results: list(r.Hits, func(h convmem.Hit) hit {
			out := newHit(h)
			if previews {
				out.Preview = new(newNeighbours(h.Before, h.After))
			}
			return out
		}),
	}
}

func newHit(h convmem.Hit) hit {
	return hit{
		message:       newMessage(h.Message),
		Score:         h.Score,
		Breakdown:     scoreBreakdown(h.Breakdown),
		MatchedFields: list(h.MatchedFields, text),
		RelationCount: h.RelationCount,
		SupersededBy:  h.SupersededBy,
	}
}

func newRebuild(r convmem.RebuildResult) rebuildDocument {
	return rebuildDocument{
		Status:          statusOK,
		MessagesIndexed: r.MessagesIndexed,
		RecordsRemoved:  r.RecordsRemoved,
		BytesBefore:     r.BytesBefore,
		BytesAfter:      r.BytesAfter,
	}
}

func newHealth(r convmem.HealthResult) healthDocument {
	return healthDocument{
		Status:          string(r.Status),
		FormatVersion:   r.FormatVersion,
		LogSize:         r.LogSize,
		SnapshotSize:    r.SnapshotSize,
		ActiveMessages:  r.ActiveMessages,
		DeletedMessages: r.DeletedMessages,
		LastSequence:    r.LastSequence,
		UpdateRecords:   r.UpdateRecords,
		DeadBytes:       r.DeadBytes,
		Memory: memory{
			Total:         r.Memory.Total(),
			StoreEntries:  r.Memory.StoreEntries,
			Bodies:        r.Memory.Bodies,
			Metadata:      r.Memory.Metadata,
			SearchIndex:   r.Memory.SearchIndex,
			HistoryIndex:  r.Memory.HistoryIndex,
			RelationIndex: r.Memory.RelationIndex,
		},
		IO:            ioCounters(r.IO),
		RecoveredTail: r.RecoveredTail,
		SnapshotValid: r.SnapshotValid,
		LastError:     r.LastError,
		SchemaVersion: schemaVersion,
	}
}
