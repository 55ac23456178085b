package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"example.com/convmem"
)

// maxErrorCharacters is the length of the longest error text.
const maxErrorCharacters = 999

// standardMessage is what an error says that has no words of its own for a
// caller.
func standardMessage(code convmem.Code) string {
	switch code {
	case convmem.CodeValidation:
		return "an argument is wrong"
	case convmem.CodeNotFound:
		return "there is no such message"
	case convmem.CodeConflict:
		return "the message was changed meanwhile: read it again"
	case convmem.CodeBusy:
		return "the store is busy or the call was cancelled before anything was stored: try again"
	case convmem.CodeIO:
		return "reading or writing the store failed"
	case convmem.CodeCorrupt:
		return "stored data is damaged"
	}
	return "the call failed inside the server, whose log says why"
}

// explain makes an error that may be shown to a caller. The text of an error
// that no Store made is not shown: it may name files, types or anything else.
func explain(err error) convmem.Error {
	var shown convmem.Error
	if coded := (*convmem.Error)(nil); errors.As(err, &coded) && coded != nil {
		shown = *coded
	} else if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		shown.Code = convmem.CodeBusy
	}
	if standardMessage(shown.Code) == standardMessage(convmem.CodeInternal) {
		shown.Code = convmem.CodeInternal
	}
	if shown.Message == "" {
		shown.Message = standardMessage(shown.Code)
	}
	return shown
}

// failed logs why a call failed and returns the text of its result.
func (c caller) failed(ctx context.Context, tool string, err error) (string, convmem.Code) {
	shown := explain(err)
	level := slog.LevelDebug
	switch shown.Code {
	case convmem.CodeIO, convmem.CodeCorrupt, convmem.CodeInternal:
		level = slog.LevelError
	}
	c.logger.Log(ctx, level, "tool call failed", "tool", tool, "code", shown.Code, "error", err, "cause", errors.Unwrap(err))
	return errorText(shown), shown.Code
}

// panicked logs the place of a panic and returns the text of the call's result.
func (c caller) panicked(ctx context.Context, tool string, cause any) (string, convmem.Code) {
	c.logger.ErrorContext(ctx, "tool call panicked", "tool", tool, "reason", reasonOf(cause), "stack", string(debug.Stack()))
	return errorText(explain(&convmem.Error{Code: convmem.CodeInternal})), convmem.CodeInternal
}

// reasonOf describes the value of a panic. It repeats only what the runtime
// says, because any other value may quote a message.
func reasonOf(cause any) string {
	if cause == nil {
		return "it ended its goroutine"
	}
	if fault, ok := cause.(runtime.Error); ok {
		return fault.Error()
	}
	return fmt.Sprintf("a value of type %T", cause)
}

// errorText is the document of an error.
func errorText(e convmem.Error) string {
	message := e.Message
	if e.Field != "" {
		message = e.Field + ": " + message
	}
	document := errorDocument{Status: "ERROR", Error: errorDetail{
		Code:            e.Code,
		Message:         limitCharacters(message),
		Field:           limitCharacters(e.Field),
		CurrentRevision: e.Revision,
		NextCursor:      e.NextCursor,
	}}
	text, err := encode(document)
	if err != nil {
		panic(err) // strings and numbers cannot fail
	}
	return text
}

// limitCharacters cuts a text to the length of an error text.
func limitCharacters(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= maxErrorCharacters {
		return text
	}
	return string([]rune(text)[:maxErrorCharacters-len("...")]) + "..."
}
