// Package langchaingo keeps the chat history of a langchaingo program in a convmem
// store: a [History] is a schema.ChatMessageHistory for every memory of package
// memory that takes one.
//
//	db, err := convmem.Open(ctx, "memory", nil)
//	...
//	defer db.Close()
//	history := langchaingo.NewHistory(db, "ticket-17")
//	chain := chains.NewConversation(model, memory.NewConversationBuffer(memory.WithChatHistory(history)))
//	answer, err := chains.Run(ctx, chain, "Which database did we choose?")
//
// The next process that opens the directory goes on with the conversation. The
// package was made for langchaingo v0.1.14.
//
// # What is kept
//
// All six message types of package llms come back as the Go values they were: an
// answer with its tool calls, function call and reasoning, a tool's or function's
// result with its id or name, a generic speaker with role and name. Other
// implementations of llms.ChatMessage are refused, pointers to the six among them,
// and so is nil.
//
// One chat message is one convmem message of the session. Its role is user for a
// human or generic speaker, assistant, system, or tool for a tool or a function. Its
// content is the text, which is what searches find; an answer without text has one
// line "name arguments" for each call instead, and any other message without text
// its type in brackets, such as "[ai]". The whole value is JSON in the payload, of
// type "langchaingo.message" or, where the history begins after a trim,
// "langchaingo.message.first". That payload is what [History.Messages] returns: an
// edit of the content with another tool changes what is found, not what is returned.
//
// Messages that other programs wrote to the session, such as a client of the MCP
// server, are part of the history, as plain text of their role.
//
// The tool call id of a call is that of its first tool call, or the name of its
// function, and results get the id of the answer that made their call, so that
// [convmem.Window] never parts them. AddMessage looks for that answer among the
// newest 100 messages of the session; a result whose call is not there keeps its own id.
//
// # Promises
//
// What a method that succeeded did is on stable storage. [History.SetMessages] is
// all or nothing for every reader and through a crash. A call that fails before
// its change has done nothing; one that fails with IO_ERROR after a failed sync has
// an unknown outcome, see package convmem. There are no idempotency keys, as the
// interface has no place for one: adding a message again adds it twice.
//
// Any number of goroutines, and of processes with the store open, may use histories
// of one session. Two SetMessages at once that trim or add may both take effect, as
// if each had done its trim or addition alone; one that writes the list anew replaces
// everything before it. A message that is added during a SetMessages stays unless
// that writes the list anew.
//
// Every error names what failed and wraps the one of the store: [convmem.CodeOf],
// errors.Is and errors.As see through it. No error holds text of a message. A payload
// that does not decode is CORRUPT_STORE and names the message; [History.Clear] still
// works then.
//
// # Cost and limits
//
// Adding is one Write, for a tool's result with one Read before it. Messages is one
// Read for each page of 1000 messages or 8 MiB, twice when there are several pages,
// since only then could somebody change the list between them. If the history keeps
// changing through ten such attempts the call fails with BUSY.
//
// SetMessages reads the history and does the least of these:
//   - the list is the history, with or without more behind it: one WriteBatch of what
//     is more, or nothing at all;
//   - the list is the history without its oldest messages: one Update and one Delete for each
//     message dropped, or only the Delete where it is one;
//   - anything else: one WriteBatch of the whole list and one Delete for each old message.
//
// So the trimming memories, ConversationTokenBuffer and ConversationWindowBuffer, cost
// at most three changes for two messages. They do delete what they trim. To keep the record
// whole, use ConversationBuffer, or trim when reading: [convmem.Window] and [FromMessage].
// ConversationTokenBuffer reads the whole history three times for each message it trims,
// and its token counter may load a vocabulary from the network.
//
// A WriteBatch takes up to 1000 messages and 64 MiB of content and payloads together.
// A message takes up to 1 MiB as JSON, a session id 1 to 256 bytes and the id of a
// tool call 256 bytes. All text must be valid UTF-8. What is beyond is refused with
// VALIDATION_ERROR and changes nothing.
//
// # What it does not do
//
// It closes no store and summarises nothing. A replaced message whose deletion failed
// is gone from every History; searches of the store still find it until the next
// SetMessages or Clear removes it, and it would come back if another program deleted
// the message with which the history now begins. Deleted text leaves the disk with the next Rebuild.
package langchaingo
