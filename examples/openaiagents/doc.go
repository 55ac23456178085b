// Package openaiagents keeps the sessions of github.com/nlpodyssey/openai-agents-go
// in a convmem store: a [Session] is a memory.Session that outlives the process.
//
//	db, err := convmem.Open(ctx, "memory", nil)
//	...
//	defer db.Close()
//	runner := agents.Runner{Config: agents.RunConfig{
//		Session: openaiagents.NewSession(db, "monday"),
//	}}
//	result, err := runner.Run(ctx, agent, "Which database did we choose?")
//
// # Mapping
//
// An item of the session is a message of the convmem session with the same id. Its
// JSON is the payload, of type "openaiagents.item". Its content is what people
// search for: the text of the item, one part a line; of a call its name and
// arguments; of anything without text its kind in brackets, such as "[image]" or
// "[reasoning]". Calls and their results carry the call id, so convmem.Window keeps
// them together, and so do requests for an approval and their answers. Roles: developer
// is system; results of calls and answers to requests are tool; other items without a
// role, such as calls and reasoning, are assistant.
//
// A message that another program wrote into the session is read as a text message
// of its role, a tool message as one of the assistant, because a model refuses a
// result whose call it does not see. Content of an item that is edited through
// another tool does not reach the item, which is read from the payload.
//
// # What is read back
//
// The JSON of every item, byte for byte, whatever the item is: any variant, fields
// this version of the API does not know, and param.Override. The Go value is the
// variant that fits the JSON: of two variants with the same JSON (OfMessage and
// OfInputMessage without a status) it is OfMessage. Where a variant cannot hold all
// of the JSON, its fields are filled in as far as they go and param.Override keeps
// the JSON, so changing such a field changes nothing that is sent. JSON of no known
// variant becomes an Override of the union, without fields, and so does JSON that is
// nested more than 100 deep.
//
// # Promises
//
// Durability: what AddItems, PopItem and ClearSession did is on stable storage when
// they return. AddItems and ClearSession do all or nothing.
//
// Concurrency: any number of goroutines, Sessions of one id and processes may use
// a session at once. Every item is popped by at most one of them. PopItem claims
// the newest item at the revision it was read with and then deletes it, so an item
// that changed meanwhile is read again. The claim takes the item's text and JSON away.
// Where the deletion then fails, or the process dies before it, a message "[popped]"
// stays, which no Session reads; the PopItem that comes to it deletes it, and so does
// ClearSession. GetItems of more than a page returns what it had read when another
// caller clears the session meanwhile.
//
// Idempotency: ClearSession may be repeated. AddItems may not, it would add the
// items again: after an error with code IO_ERROR look before repeating it. After
// such an error of PopItem the item may be there or gone.
//
// # Limits
//
// One AddItems takes up to 1000 items and 64 MiB of content and JSON; an item up to
// 1 MiB of JSON, so larger images must be links or file ids; a session id 1 to 256
// bytes; a call id up to 256. Larger values, empty items and text that is not valid
// UTF-8 are refused with VALIDATION_ERROR and nothing is added. The framework adds what
// a run made when it ends, together: one item that is refused loses that run.
//
// GetItems with a limit keeps calls and results together and knows nothing else: it
// may return a call without the reasoning before it, and takes a result whose call is
// an item reference for one without a call. Give models that insist all items.
//
// # Costs
//
// AddItems, ClearSession and a PopItem of which nobody disturbs the claim cost one,
// one and two writes with their syncs. GetItems reads what it returns, up to 1000
// messages or 8 MiB a page, and holds it in memory; PopItem reads eight messages.
// Decoding items and checking that their JSON is unchanged takes most of the time:
// see go test -run '^$' -bench GetItems. Bytes of deleted items stay in the file
// until the store's Rebuild.
//
// # What it does not do
//
// It does not close the store, summarise, or forget by age. ClearSession deletes
// the whole convmem session, messages of other programs too.
//
// Package memory of the framework imports a SQLite driver that is built with CGO
// when CGO is on. Nothing here uses it: build with CGO_ENABLED=0 to leave it out.
package openaiagents
