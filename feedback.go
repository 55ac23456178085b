package convmem

import "context"

// FeedbackRequest is a note on a message.
type FeedbackRequest struct {
	MessageID string // of a live message
	Note      string // 1 to MaxContentBytes, any valid UTF-8
	Role      Role   // who says it; "" means RoleUser
	// IdempotencyKey makes the note once, as that of a WriteRequest does.
	IdempotencyKey string
}

// Feedback stores a note on a message of s, in the Store notes, and returns it. The
// noted message stays as it is: its revision, times and relations do not change.
//
// Notes are messages of tier [TierDiscard] in the session [FeedbackSession] of the
// noted message, which they name as their source. Read them with [History] or
// [AllMessages]; they are updated, searched, exported and deleted like others, and
// outlive the message that they are about: forget its notes by their session.
//
// Nothing that a search of s returns changes where notes is another Store, such as
// another namespace of the same DB: that is the way to keep notes. They may be kept
// in s itself, but then are messages there like others. Searches find them by their
// words, unless Filters.Tiers leaves TierDiscard out, and each is one more message in
// the statistics by which words are weighed. One note moves the scores of others by
// about one part in as many as there are messages: by less than a thousandth of
// themselves among 1,000, so that only hits as good as equal change places. Words of
// the query that the note holds and few messages do count for less, noticeably so.
// Neighbours, RelationCount and SupersededBy stay in any case, and [Retain] with a
// rule for TierDiscard deletes such notes.
//
// It fails with [CodeNotFound] when s does not hold the message, and costs one Read
// of s and one Write of notes. A message that is deleted between these two gets its
// note all the same.
func Feedback(ctx context.Context, s, notes Store, r FeedbackRequest) (Message, error) {
	if _, err := messageNow(ctx, s, r.MessageID); err != nil {
		return Message{}, err
	}
	if r.Role == "" {
		r.Role = RoleUser
	}
	written, err := notes.Write(ctx, WriteRequest{
		SessionID: FeedbackSession(r.MessageID), Role: r.Role, Content: r.Note, IdempotencyKey: r.IdempotencyKey,
		Metadata: MetadataPatch{Tier: TierDiscard, SourceMessageIDs: []string{r.MessageID}},
	})
	return written.Message, err
}

// FeedbackSession names the session of the notes on a message: "feedback/" and its
// id.
func FeedbackSession(messageID string) string { return "feedback/" + messageID }

// messageNow reads one message and nothing around it.
func messageNow(ctx context.Context, s Store, id string) (Message, error) {
	none := 0
	found, err := Context(ctx, s, ContextRequest{MessageID: id, Before: &none, After: &none, RelationDepth: &none})
	return found.Message, err
}
