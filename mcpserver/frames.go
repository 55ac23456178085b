package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

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
	if err != nil || !exactID(line) {
		return nil, refuse(line, jsonrpc.CodeInvalidRequest, "invalid request: the line is not one JSON-RPC 2.0 message that this server can read")
	}
	if r, ok := message.(*jsonrpc.Request); ok {
		if code, problem := requestFault(r); problem != "" {
			return nil, refuse(line, code, problem)
		}
	}
	return message, nil
}

// exactID reports whether the id of a message comes through the SDK unchanged,
// which reads numbers as floating point: a host waits for the id that it sent.
func exactID(line []byte) bool {
	id := idOf(line)
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxExactID <= n && n <= maxExactID
}

const maxExactID = 1 << 53

// maxNameBytes is far above the longest name of a method or tool.
const maxNameBytes = 128

// requestFault says why a request is refused that the SDK would answer with its
// whole text, content included, or not look at closely enough.
func requestFault(r *jsonrpc.Request) (code int64, problem string) {
	if len(r.Method) > maxNameBytes {
		return jsonrpc.CodeMethodNotFound, "there is no method of such a long name"
	}
	if r.Method != "tools/call" {
		return 0, ""
	}
	params, repeated, err := membersOf(r.Params)
	var name *string
	var meta map[string]json.RawMessage
	switch {
	case err != nil, read(params["name"], &name) != nil, read(params["_meta"], &meta) != nil, name == nil:
		return jsonrpc.CodeInvalidParams, "invalid params: tools/call wants an object with a name and arguments"
	case len(*name) > maxNameBytes:
		return jsonrpc.CodeInvalidParams, "invalid params: there is no tool of such a long name"
	case repeated:
		return jsonrpc.CodeInvalidParams, "invalid params: a key stands twice"
	}
	return 0, ""
}

var errNoObject = errors.New("not a JSON object")

// membersOf returns the values of a JSON object as they are written, and whether
// a key stands twice.
func membersOf(object []byte) (values map[string]json.RawMessage, repeated bool, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return nil, false, errNoObject
	}
	values = map[string]json.RawMessage{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, false, err
		}
		key := token.(string) // what stands before the colon in an object
		_, known := values[key]
		repeated = repeated || known
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, false, err
		}
		values[key] = value
	}
	return values, repeated, nil
}

// read decodes a member that may be missing.
func read(member json.RawMessage, into any) error {
	if len(member) == 0 {
		return nil
	}
	return json.Unmarshal(member, into)
}

// refuse writes an error response by hand, because jsonrpc.EncodeMessage leaves
// out the id where the protocol wants null. The id is that of the request in
// line, if it can be found.
func refuse(line []byte, code int64, problem string) []byte {
	id := idOf(line)
	if len(id) == 0 {
		id = []byte("null")
	}
	detail := quote(jsonrpc.Error{Code: code, Message: problem})
	return bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"error":`), detail, []byte("}")}, nil)
}

// idOf returns the id in a line as it is written, or nothing when there is none
// that a request can have.
func idOf(line []byte) []byte {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(line, &request) != nil || len(request.ID) == 0 || !bytes.ContainsAny(request.ID[:1], `"-0123456789`) {
		return nil
	}
	return request.ID
}
