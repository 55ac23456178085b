package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxFrameBytes is the length of the longest line that is read. Content of
// 1 MiB takes at most half of it, however it is escaped.
const maxFrameBytes = 16 << 20

const byteOrderMark = "\uFEFF"

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
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
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
		return nil, refuse(nil, jsonrpc.CodeParseError, "parse error: this is not one JSON value")
	}
	if deeper(line, maxFrameNesting) {
		return nil, refuse(line, jsonrpc.CodeParseError, "parse error: arrays and objects stand too deep in each other")
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil || !exactID(line) {
		return nil, refuse(line, jsonrpc.CodeInvalidRequest, "invalid request: this is not one JSON-RPC 2.0 message that this server can read")
	}
	switch m := message.(type) {
	case *jsonrpc.Request:
		if code, problem := requestFault(m); problem != "" {
			return nil, refuse(line, code, problem)
		}
	case *jsonrpc.Response:
		if m.Result == nil && m.Error == nil {
			return nil, refuse(line, jsonrpc.CodeInvalidRequest, "invalid request: there is no method")
		}
	}
	return message, nil
}

// maxFrameNesting is how deep arrays and objects of a message may stand in each
// other. The SDK refuses a little more than that.
const maxFrameNesting = 990

// deeper reports whether valid JSON nests arrays and objects deeper than limit.
func deeper(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd returns where the string ends that begins at start, in valid JSON.
// It leaps to the next quotation mark: most of a long line is one string.
func stringEnd(text []byte, start int) int {
	end := start + 1
	for {
		end += bytes.IndexByte(text[end:], '"')
		backslashes := 0
		for text[end-1-backslashes] == '\\' {
			backslashes++
		}
		end++
		if backslashes%2 == 0 {
			return end
		}
	}
}

// exactID reports whether the id of a message comes through the SDK unchanged,
// which reads numbers as floating point: a host waits for the id that it sent.
func exactID(line []byte) bool {
	members, _, _ := membersOf(line)
	written := members["id"]
	if len(written) == 0 || written[0] == '"' && idOf(line) != nil {
		return true
	}
	n, err := strconv.ParseInt(string(written), 10, 64)
	return err == nil && -maxExactID <= n && n <= maxExactID
}

const maxExactID = 1 << 53

// methods are the requests that the SDK knows. It answers to others in different
// ways over different transports.
var methods = map[string]bool{
	"initialize": true, "ping": true, "server/discover": true,
	"tools/list": true, "tools/call": true,
	"resources/list": true, "resources/templates/list": true, "resources/read": true,
	"resources/subscribe": true, "resources/unsubscribe": true, "subscriptions/listen": true,
	"prompts/list": true, "prompts/get": true, "completion/complete": true, "logging/setLevel": true,
}

// maxNameBytes is far above the longest name of a method or tool.
const maxNameBytes = 128

// requestFault says why a request is refused that the SDK would answer with its
// whole text, content included, or not look at closely enough.
func requestFault(r *jsonrpc.Request) (code int64, problem string) {
	if len(r.Method) > maxNameBytes {
		return jsonrpc.CodeMethodNotFound, "there is no method of such a long name"
	}
	if r.IsCall() && !methods[r.Method] {
		return jsonrpc.CodeMethodNotFound, "method not found"
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
// a key stands twice, of which the last counts. The object is known to be valid
// JSON, and the values are parts of it.
func membersOf(object []byte) (values map[string]json.RawMessage, repeated bool, err error) {
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return nil, false, errNoObject
	}
	values = map[string]json.RawMessage{}
	key, start, depth := "", 0, 0 // start is where a value begins, 0 before its colon
	for i := 0; i < len(object); i++ {
		switch c := object[i]; c {
		case '"':
			end := stringEnd(object, i)
			if depth == 1 && start == 0 {
				if err := json.Unmarshal(object[i:end], &key); err != nil {
					return nil, false, err
				}
			}
			i = end - 1
			continue
		case ':':
			if depth == 1 {
				start = i + 1
			}
			continue
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',':
		default:
			continue
		}
		if ended := depth == 0 || depth == 1 && object[i] == ','; ended && start > 0 {
			_, known := values[key]
			repeated = repeated || known
			values[key], start = bytes.TrimSpace(object[start:i]), 0
		}
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

// idOf returns the id in a line of valid JSON as it is written, or nothing when
// there is none that a request can have and an answer can repeat.
func idOf(line []byte) []byte {
	members, _, _ := membersOf(line)
	id := members["id"]
	if len(id) == 0 || !bytes.ContainsAny(id[:1], `"-0123456789`) || !utf8.Valid(id) || hasLoneSurrogate(id) {
		return nil
	}
	return id
}
