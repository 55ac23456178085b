package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"example.com/convmem"
)

const exitFailed = 1

// exitCode is the exit code of an error.
func exitCode(err error) int {
	switch convmem.CodeOf(err) {
	case "":
		return 0
	case convmem.CodeValidation:
		return 2
	case convmem.CodeNotFound:
		return 3
	case convmem.CodeConflict:
		return 4
	case convmem.CodeBusy:
		return 5
	case convmem.CodeCorrupt:
		return 6
	}
	return exitFailed
}

// wrong is the error of an argument, or with no field of the command line.
func wrong(field, format string, values ...any) error {
	return &convmem.Error{Code: convmem.CodeValidation, Field: field, Message: fmt.Sprintf(format, values...)}
}

// ioFailed is the error of a file that is not the store's.
func ioFailed(doing string, err error) error {
	return &convmem.Error{Code: convmem.CodeIO, Message: fmt.Sprintf("%s failed: %v", doing, err), Err: err}
}

// explained adds to an error of the store what would be right.
func explained(err error, format string, values ...any) error {
	var e *convmem.Error
	if !errors.As(err, &e) {
		return err
	}
	clearer := *e
	clearer.Message += ": " + fmt.Sprintf(format, values...)
	return &clearer
}

// errorDocument is an error as the MCP tools answer it.
type errorDocument struct {
	Status string      `json:"status"`
	Error  errorDetail `json:"error"`
}

type errorDetail struct {
	Code            convmem.Code `json:"code"`
	Message         string       `json:"message"`
	Field           string       `json:"field,omitempty"`
	CurrentRevision int64        `json:"current_revision,omitempty"`
}

func newErrorDetail(err error) errorDetail {
	var e *convmem.Error
	if !errors.As(err, &e) {
		return errorDetail{Code: convmem.CodeOf(err), Message: err.Error()}
	}
	detail := errorDetail{Code: e.Code, Message: e.Message, Field: e.Field, CurrentRevision: e.Revision}
	if e.Field != "" {
		detail.Message = e.Field + ": " + e.Message
	}
	return detail
}

// report prints an error.
func report(w io.Writer, err error, asJSON bool) {
	if !asJSON {
		fmt.Fprintln(w, harmless(err.Error(), ""))
		return
	}
	text, marshalling := json.Marshal(errorDocument{"ERROR", newErrorDetail(err)})
	if marshalling != nil {
		text = []byte(marshalling.Error())
	}
	fmt.Fprintln(w, harmless(string(text), ""))
}
