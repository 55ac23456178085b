package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxFrameBytes is the length of the longest line that is read. Content of
// 1 MiB takes at most half of it, however it is escaped.
const maxFrameBytes = 16 << 20

var errFrameTooLong = errors.New("the line is longer than 16 MiB")

// frames splits a stream into lines.
type frames struct {
	in    *bufio.Reader
	begun bool
}

func newFrames(in io.Reader) *frames { return &frames{in: bufio.NewReaderSize(in, 64<<10)} }

// next returns the next line that is not blank, without the white space around
// it and without a byte order mark at the start of the stream. The last line
// needs no end. errFrameTooLong means that a line was skipped, of which no
// more than the limit was ever held; any other error ends the stream.
func (f *frames) next() ([]byte, error) {
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		if !f.begun {
			line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		f.begun = true
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// line reads to the next newline or the end of the stream.
func (f *frames) line() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := f.in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > maxFrameBytes; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong:
			return nil, errFrameTooLong
		case err != nil && len(line) == 0:
			return nil, err
		}
		return line, nil
	}
}

// decodeFrame reads the message in a line, or returns the response that says
// why there is none.
func decodeFrame(line []byte) (message jsonrpc.Message, refusal []byte) {
	if !json.Valid(line) {
		return nil, refuse(nil, jsonrpc.CodeParseError, "parse error: the line is not one JSON value")
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, refuse(line, jsonrpc.CodeInvalidRequest, "invalid request: the line is not one JSON-RPC 2.0 message that this server can read")
	}
	return message, nil
}

// refuse writes an error response by hand, because jsonrpc.EncodeMessage leaves
// out the id where the protocol wants null. The id is that of the request in
// line, if it can be found.
func refuse(line []byte, code int64, problem string) []byte {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	id := []byte("null")
	if json.Unmarshal(line, &request) == nil && len(request.ID) > 0 && bytes.IndexByte([]byte(`"-0123456789`), request.ID[0]) >= 0 {
		id = request.ID
	}
	detail := quote(jsonrpc.Error{Code: code, Message: problem})
	return bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`), detail, []byte("}")}, nil)
}
