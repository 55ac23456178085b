package eino

import (
	"example.com/convmem"
)

// Store is what [CheckPoints] and [Messages] need of a store. *[convmem.DB] and
// *[convmem.Namespace] have it.
type Store interface {
	convmem.Store
	convmem.BatchWriter
	convmem.SessionDeleter
}

// invalid refuses an argument before the store sees it, as the store would. Its text
// never holds what the argument holds.
func invalid(op, field, message string, cause error) error {
	return &convmem.Error{Op: op, Code: convmem.CodeValidation, Field: field, Message: message, Err: cause}
}

// unreadable is about a message that this package wrote and something else changed.
// The cause may quote the payload, so it is there to unwrap and not in the text.
func unreadable(messageID, what string, cause error) error {
	return &convmem.Error{Op: "read", Code: convmem.CodeCorrupt, Message: "message " + messageID + ": " + what, Err: cause}
}
