package convmem

import (
	"context"
	"math"
	"slices"
	"unicode/utf8"
)

// WindowRequest asks for the newest messages of a session that fit a prompt. At
// least one of MaxMessages and MaxTokens must be given.
type WindowRequest struct {
	SessionID   string // an unknown session has an empty window
	MaxMessages int    // 0: no bound
	MaxTokens   int    // 0: no bound
	// CountTokens counts what a message takes of MaxTokens, 0 or more; nil means
	// [EstimateTokens]. The same message must always count the same. It is called
	// at most once for each message that is read, and must not change it.
	CountTokens func(Message) int
	// KeepSystem puts the system messages with which the session begins, all up
	// to its first message of another role, in front of the window. They count
	// towards both bounds.
	KeepSystem bool
	// KeepOpenCalls keeps calls without any result, for a caller that is about
	// to add it. Models refuse a prompt with such a call.
	KeepOpenCalls bool
}

// WindowResult is a window.
type WindowResult struct {
	Messages []Message // in creation order, whole
	Tokens   int       // of Messages, as CountTokens counts
	// Omitted is true when the session holds a message that is not in Messages:
	// an older one, or one left out because its call or result is missing.
	Omitted bool
}

// Window returns the newest messages of a session within the bounds of r, from
// any Store, so that a model accepts them.
//
// A message of [RoleAssistant] with a ToolCallID is a call. Its results are the
// messages of [RoleTool] with the same ToolCallID that come after it, up to the
// next call with that id: ids may be used again. A call and its results are in the
// window all together or not at all, wherever they stand; calls may interleave. One
// message may stand for several calls made together, with one id for all of them;
// of two such messages with one id the second takes the results. In messages of
// other roles a ToolCallID means nothing here.
//
// The window is the longest end of the session that fits. Of that end everything
// is in it, but for what no model takes: results whose call stands before that end
// or nowhere, or that have no ToolCallID, and calls without a result, unless
// KeepOpenCalls. What is left out counts for nothing. So a result far behind its
// call is missing until the window reaches back to the call, and does not keep out
// the messages between them, which fit; and the window ends where a message, or a
// call with its results, does not fit, even if something older would. It may be
// empty. A smaller bound gives the end of the window of a larger one, without the
// calls and results that stand across its beginning.
//
// With KeepSystem the leading system messages come first, and the end of the
// session gets the room they leave. Where they alone do not fit, Window fails with
// [CodeValidation] and names the bound: a prompt that lost its instructions
// silently would be worse than none.
//
// The same messages in the session give the same window, byte for byte: there is no
// clock and no chance in it. It is read in descending pages, of MaxMessages+1
// messages (at most [MaxReadLimit]) or else of [DefaultReadLimit], until something
// does not fit; nothing is read ahead for the other half of a call. That makes one
// Read if the window ends in the first page, and with KeepSystem one more for up
// to nine leading system messages. Each message is as it was when its page was
// read: where others change the session meanwhile, messages written since the
// first page are not in the window, those deleted may be, and every result still
// comes after its call.
//
// Results whose calls were not met yet are held until then; the window ends where
// they pass 64 MiB.
//
// A damaged message among those that are read makes it fail with [CodeCorrupt].
func Window(ctx context.Context, s Store, r WindowRequest) (WindowResult, error) {
	if r.CountTokens == nil {
		r.CountTokens = EstimateTokens
	}
	if err := r.check(); err != nil {
		return WindowResult{}, fail("read", err)
	}
	b := windowBuilder{request: r, waiting: map[string][]int{}}
	if r.KeepSystem {
		if err := b.addSystem(ctx, s); err != nil {
			return WindowResult{}, err
		}
	}
	if err := b.addNewest(ctx, s); err != nil {
		return WindowResult{}, err
	}
	return b.result(), nil
}

func (r WindowRequest) check() error {
	switch {
	case r.MaxMessages < 0:
		return invalid("max_messages", "%d, want 0 or more", r.MaxMessages)
	case r.MaxTokens < 0:
		return invalid("max_tokens", "%d, want 0 or more", r.MaxTokens)
	case r.MaxMessages == 0 && r.MaxTokens == 0:
		return invalid("max_messages", "0 like max_tokens, want at least one of them above 0")
	}
	return checkSession(r.SessionID)
}

// pageSize lets one page show that there is a message more than fits.
func (r WindowRequest) pageSize() int {
	if r.MaxMessages == 0 {
		return DefaultReadLimit
	}
	return min(r.MaxMessages, MaxReadLimit-1) + 1
}

// systemPage is the size of pages of leading system messages: there are few.
const systemPage = 10

// maxWaitingBytes bounds what is held of results whose calls were not met yet.
const maxWaitingBytes = 64 << 20

// windowBuilder collects a window from the newest message back.
type windowBuilder struct {
	request  WindowRequest
	system   []Message
	messages int // taken, system ones too
	tokens   int
	newest   []windowCandidate // newest first
	// waiting holds, by ToolCallID, places in newest of results whose call was
	// not met yet.
	waiting map[string][]int
	// waitingBytes is the size of all that wait.
	waitingBytes int
	omitted      bool
}

// windowCandidate is a message that is in the window once it is taken.
type windowCandidate struct {
	message Message
	tokens  int
	taken   bool
}

// addSystem takes the leading system messages.
func (b *windowBuilder) addSystem(ctx context.Context, s Store) error {
	for message, err := range AllMessages(ctx, s, HistoryRequest{SessionID: b.request.SessionID, Limit: systemPage}) {
		if err != nil {
			return err
		}
		if message.Role != RoleSystem {
			return nil
		}
		tokens, err := b.count(message)
		if err != nil {
			return err
		}
		if field := b.exceeded(1, tokens); field != "" {
			return fail("read", invalid(field, "less than the leading system messages take, which keep_system keeps: want more, or no keep_system"))
		}
		b.system = append(b.system, message)
		b.messages++
		b.tokens += tokens
	}
	return nil
}

// count asks CountTokens.
func (b *windowBuilder) count(message Message) (int, error) {
	tokens := b.request.CountTokens(message)
	if tokens < 0 {
		return 0, fail("read", invalid("count_tokens", "returned %d for message %s, want 0 or more", tokens, message.ID))
	}
	return tokens, nil
}

// exceeded names the bound that so much more would pass, or is "".
func (b *windowBuilder) exceeded(messages, tokens int) string {
	r := b.request
	switch {
	case r.MaxMessages > 0 && messages > r.MaxMessages-b.messages:
		return "max_messages"
	case r.MaxTokens > 0 && tokens > r.MaxTokens-b.tokens:
		return "max_tokens"
	}
	return ""
}

// addNewest goes back until something does not fit.
func (b *windowBuilder) addNewest(ctx context.Context, s Store) error {
	request := HistoryRequest{SessionID: b.request.SessionID, Order: OrderDescending, Limit: b.request.pageSize()}
	for message, err := range AllMessages(ctx, s, request) {
		if err != nil {
			return err
		}
		if len(b.system) > 0 && message.ID <= b.system[len(b.system)-1].ID {
			return nil
		}
		// Nothing is looked at in vain: what has no room is not even counted.
		if b.exceeded(1, 0) != "" {
			b.omitted = true
			return nil
		}
		fits, err := b.add(message)
		if err != nil {
			return err
		}
		if !fits {
			b.omitted = true
			return nil
		}
	}
	return nil
}

// add puts a message, older than all before, with those that are taken, waiting or
// left out. It reports false when it would have to be taken and does not fit.
func (b *windowBuilder) add(message Message) (bool, error) {
	tokens, err := b.count(message)
	if err != nil {
		return false, err
	}
	id := message.Metadata.ToolCallID
	place := len(b.newest)
	b.newest = append(b.newest, windowCandidate{message: message, tokens: tokens})
	switch {
	case message.Role == RoleTool && id == "":
		b.newest[place].message = Message{} // never taken
		return true, nil
	case message.Role == RoleTool:
		b.waiting[id] = append(b.waiting[id], place)
		b.waitingBytes += message.size()
		return b.waitingBytes <= maxWaitingBytes, nil
	case message.Role == RoleAssistant && id != "":
		results := b.waiting[id]
		delete(b.waiting, id)
		for _, result := range results {
			b.waitingBytes -= b.newest[result].message.size()
		}
		if len(results) == 0 && !b.request.KeepOpenCalls {
			return true, nil
		}
		return b.take(append(results, place)), nil
	}
	return b.take([]int{place}), nil
}

// take takes messages together, or none of them where they do not fit.
func (b *windowBuilder) take(places []int) bool {
	tokens := 0
	for _, place := range places {
		own := b.newest[place].tokens
		if own > math.MaxInt-b.tokens-tokens || b.exceeded(len(places), tokens+own) != "" {
			return false
		}
		tokens += own
	}
	for _, place := range places {
		b.newest[place].taken = true
	}
	b.messages += len(places)
	b.tokens += tokens
	return true
}

func (b *windowBuilder) result() WindowResult {
	result := WindowResult{Messages: b.system, Tokens: b.tokens, Omitted: b.omitted}
	for _, candidate := range slices.Backward(b.newest) {
		if candidate.taken {
			result.Messages = append(result.Messages, candidate.message)
		} else {
			result.Omitted = true
		}
	}
	return result
}

// EstimateTokens estimates how many tokens the content of a message takes in a
// prompt, without knowing the model: it is an estimate, and the model's own counter
// is better. It counts 4 for the message itself; for its content one token for 4
// ASCII letters, digits or spaces, for 2 other ASCII characters, for 2 characters
// of 2 bytes (Cyrillic, Greek, Hebrew, Arabic, accents), and for each of 3 bytes
// (Chinese, Japanese, Korean, the scripts of South and South-East Asia), and two
// for each of 4 bytes (emoji); and rounds up. Its cost grows with the content.
func EstimateTokens(m Message) int {
	quarters := 0
	for _, char := range m.Content {
		quarters += tokenQuarters(char)
	}
	return messageTokens + (quarters+3)/4
}

// messageTokens is for the role and the marks that set a message off.
const messageTokens = 4

// tokenQuarters is what a character takes, in quarters of a token.
func tokenQuarters(char rune) int {
	switch size := utf8.RuneLen(char); {
	case char == ' ' || 'a' <= char && char <= 'z' || 'A' <= char && char <= 'Z' || '0' <= char && char <= '9':
		return 1
	case size <= 2:
		return 2
	case size == 3:
		return 4
	}
	return 8
}
