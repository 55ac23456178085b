// Package eino keeps the checkpoints and the conversations of agents written with
// github.com/cloudwego/eino in a convmem store, so that they survive the process.
//
//	db, err := convmem.Open(ctx, "memory", nil)
//	...
//	defer db.Close()
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{
//		Agent: agent, CheckPointStore: eino.NewCheckPoints(db.Namespace("checkpoints")),
//	})
//	conversation := eino.NewMessages(db.Namespace("conversations"))
//	err = conversation.Append(ctx, "monday", schema.UserMessage("Which database?"))
//	prompt, err := conversation.Latest(ctx, "monday", eino.Window{MaxTokens: 8000})
//
// [CheckPoints] is the CheckPointStore of packages adk and compose, with their
// CheckPointDeleter. Eino has no interface for conversations; [Messages] has what its
// examples ask of one.
//
// # Promises
//
// What a method wrote is on stable storage when it returns without an error. One
// Append and one Set happen wholly or not at all, whatever dies meanwhile.
//
// Both types may be used by many goroutines, and by many processes that opened the
// same directory, each with values of its own. They keep nothing in memory and never
// close the store.
//
// Set, Delete and Clear may be repeated. Append may not: what is appended twice is
// there twice. What failed with [convmem.CodeIO] may have happened all the same; look
// with All before repeating an Append.
//
// Errors begin with "eino:", wrap the [*convmem.Error] of the store, and never hold
// text of a message or a checkpoint. [convmem.CodeOf] works on all of them.
//
// # How it is stored
//
// A message is one convmem message of its role with the whole [schema.Message] as
// JSON in its payload. Its content, which search and other programs see, is the texts
// in it, one on a line; without any it is the calls as "name arguments", or else the
// kind in brackets: "[image]", "[reasoning]", "[empty]". What another program wrote
// reads as plain text of its role. Editing content with other tools changes what is
// found and not what Messages returns.
//
// An assistant's message with tool calls and the results of these calls share one
// ToolCallID in convmem: the id of the first call that has one. Append finds the call
// of a result in the same Append or among the newest [MaxCallDistance] messages of
// the session; a result further behind its call never gets into Latest if it was not
// the first call of its message. Of calls with one id the newest takes the results.
//
// A checkpoint is one to 64 convmem messages in a session of its own, named
// "eino.checkpoint/" and its id: write nothing else there. Give checkpoints a namespace
// of their own, as above, or searches of other programs find them. An Export beside a
// Set can hold half of a checkpoint: copy with Backup, or export when no run is saved.
//
// # Limits
//
//   - Ids of sessions: 1 to 256 bytes of UTF-8. Of checkpoints: 1 to
//     [MaxCheckPointIDBytes]. Of calls: 0 to 256.
//   - A message: 1 MiB of JSON, images in it included (keep large ones elsewhere and
//     their URLs here).
//   - One Append: 1000 messages, and 64 MiB of content and JSON together.
//   - A checkpoint: [MaxCheckPointBytes].
//
// Anything beyond fails with [convmem.CodeValidation], and nothing is stored. So does
// text that is not valid UTF-8, which JSON would otherwise change silently.
//
// # What JSON does not keep
//
// In Extra, of messages, parts and calls, every number comes back as a float64, exact
// up to 2^53, and every struct as a map. MessageOutputPart.StreamingMeta, which eino
// keeps out of its JSON, is lost: append whole messages, not chunks of a stream. Empty
// lists and maps come back nil.
//
// # Costs
//
// Append is one write with one sync; with results whose calls are not earlier in the
// same Append, it first makes one Read for each 16 messages (fewer, if they are large)
// back to the call, or to [MaxCallDistance]. Set is one synced write, then for each
// part of what it replaces one Read and one synced write, and one more Read. Get reads
// a checkpoint in pages of up to 8 MiB, and again if it is replaced meanwhile. All
// holds the session in memory. Latest reads back until its bounds are full, past what
// it leaves out. What was deleted or replaced leaves the disk with the next Rebuild:
// call it from time to time where checkpoints are many or large.
//
// # What it does not do
//
// It does not summarise, does not choose what is worth appending (leave out the
// system message that eino makes of an agent's instruction with every run), and does
// not store [schema.AgenticMessage].
package eino
