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
// kind in brackets: "[image]", "[reasoning]", "[empty]".
//
// A message that another program wrote to the session reads as plain text of its
// role. Editing the content of a message with other tools, such as the MCP server,
// changes what is found and not what Messages returns.
//
// An assistant's message with tool calls and the results of these calls share one
// ToolCallID in convmem: the id of the first call that has one. Append finds the call
// of a result in the same Append or among the newest [MaxCallDistance] messages of
// the session; a result further behind its call never gets into Latest if it was not
// the first call of its message.
//
// A checkpoint is one to 64 convmem messages in the session that has its id. Give
// checkpoints a namespace of their own, as above: otherwise searches of other programs
// find them, Set and Delete read through all of a conversation that has their id, and
// Clear deletes them with it. All, Latest and Search leave checkpoints out, and Set
// and Delete leave everything else in the session alone.
//
// # Limits
//
//   - Ids of sessions, checkpoints and calls: 256 bytes of UTF-8; those of sessions
//     and checkpoints not empty.
//   - A message: 1 MiB of JSON, images in it included (keep large ones elsewhere and
//     their URLs here), and 1 MiB of text.
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
// Append is one write with one sync, and before it, if it begins with results, one
// Read for each 16 messages back to their call. Set is one write, one Read, and one
// more synced write for each part of the checkpoint it replaces. Get reads the parts
// of one checkpoint, in pages of eight. All holds the session in memory; Latest reads
// about as many messages as it returns. A session or checkpoint that was deleted or
// replaced leaves the disk with the next Rebuild: call it from time to time where
// checkpoints are many or large.
//
// # What it does not do
//
// It does not summarise, does not choose what is worth appending (leave out the
// system message that eino makes of an agent's instruction with every run), and does
// not store [schema.AgenticMessage].
package eino
