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
// All six message types of package llms come back as the Go values they were. Other
// implementations of llms.ChatMessage are refused, pointers to the six among them,
// and so is nil.
//
// A chat message is one convmem message. Its role is user for a human or generic
// speaker, assistant, system, or tool for a tool or a function. Its content is the
// text. An answer without text has one line "name arguments" for each call instead;
// any other message without text has its type in brackets, such as "[human]". The
// whole value is JSON in the payload, of type "langchaingo.message". Searches find the
// content, Messages returns the payload: an edit of the content does not reach it.
//
// What other programs wrote to the session is part of the history, as plain text of
// its role. A trim leaves alone what stays. A list that is written anew keeps of such
// a message the text, the role and a result's tool call id, and nothing else.
//
// An answer and the results of its calls share one tool call id in the store, so that
// [convmem.Window] never parts them: the answer's first tool call id that is not empty,
// or else the name in its FunctionCall. A tool's result belongs to the newest answer
// before it that has its id, a function's to the newest that has its name. AddMessage
// looks among the newest 100 messages, SetMessages in the whole list. A result whose
// answer is not found has its own id or name. Window leaves out results without an
// answer, and those of an answer without any id or name.
//
// # Promises
//
// What a method that succeeded did is on stable storage. A call that fails before its
// change has done nothing. One that fails with IO_ERROR after a failed sync has an
// unknown outcome, see package convmem. Adding a message again adds it twice.
//
// [History.SetMessages] is all or nothing for every reader through a History, and
// through a crash. Window, searches and other programs may see old and new messages
// together while it deletes the old ones, and after a crash until the next SetMessages
// or Clear. Until then a message of payload type "langchaingo.end" is the last of the
// old ones, or stands behind them with the content "[replaced]". It and all before it
// will be deleted, also what is imported there meanwhile. A SetMessages that succeeded
// leaves no such message.
//
// Any number of goroutines, and of processes with the store open, may use histories
// of one session. SetMessages compares its list with the history as it is then. If that
// makes it an addition or a trim, it does just that, whatever others do from then on:
// a trim brings nothing back and loses nothing new. Any other list is written anew and
// replaces all before it. That happens to a trim too if others add or trim between its
// Messages and its SetMessages, so give a trimming memory a session of its own: two on
// one session can lose each other's newest turns.
//
// Every error names what failed and wraps the one of the store. No error holds text of
// a message. A payload that does not decode is CORRUPT_STORE and names the message;
// [History.Clear] still works then.
//
// # Costs and limits
//
// AddMessage is one Write, after a Read of up to 100 messages where it adds a result.
// Messages is one Read for each page of 1000 messages or 8 MiB. Several pages are read
// until two readings in a row begin with the same message. After ten readings the call
// fails with BUSY. SetMessages reads likewise and makes the first of these that does:
//   - nothing, or one WriteBatch of what is behind the history;
//   - one Delete of the oldest message;
//   - one Update, another reading and one Delete for each message dropped;
//   - one WriteBatch of the whole list, another reading and one Delete for each old
//     message and one more.
//
// ConversationTokenBuffer reads the history three times for each message it trims, and
// its token counter may load a vocabulary from the network. Trimming memories delete
// what they trim: to keep the record whole, use ConversationBuffer, or trim when reading,
// with [convmem.Window] and [FromMessage]. Deleted text leaves the disk with the next
// Rebuild.
//
// A message takes up to 1 MiB as JSON. A tool call id, the name in a FunctionCall and
// that of a function's result take up to 256 bytes, a session id 1 to 256. SetMessages
// writes up to 999 messages anew or adds up to 1000, with 64 MiB of content and payloads
// together. All text must be valid UTF-8. What is beyond is refused with
// VALIDATION_ERROR and changes nothing.
package langchaingo
