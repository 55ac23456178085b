package eino

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"example.com/convmem"
)

// checkPointType is the payload type of every part. It is in stored data and must
// never change.
const checkPointType = "eino.checkpoint"

// digest tells the parts of one checkpoint from those of another, and that what is
// put together is what was taken apart.
type digest [sha256.Size]byte

// partHeader is, in big-endian bytes, what the payload of a part begins with. It is
// in stored data and must never change.
type partHeader struct {
	Digest digest // of the whole checkpoint
	Part   uint32 // 1 to Count
	Count  uint32
}

const (
	partHeaderBytes = sha256.Size + 4 + 4
	partDataBytes   = convmem.MaxPayloadBytes - partHeaderBytes
)

// split makes the messages of a checkpoint.
func split(session string, checkPoint []byte) []convmem.WriteRequest {
	chunks := slices.Collect(slices.Chunk(checkPoint, partDataBytes))
	if len(chunks) == 0 {
		chunks = [][]byte{nil}
	}
	header := partHeader{Digest: sha256.Sum256(checkPoint), Count: uint32(len(chunks))}
	requests := make([]convmem.WriteRequest, len(chunks))
	for i, chunk := range chunks {
		header.Part = uint32(i + 1)
		requests[i] = convmem.WriteRequest{
			SessionID: session, Role: convmem.RoleTool,
			Content: fmt.Sprintf("checkpoint part %d of %d", header.Part, header.Count),
			Payload: convmem.Payload{Type: checkPointType, Data: header.before(chunk)},
		}
	}
	return requests
}

// before returns the header with data behind it.
func (h partHeader) before(data []byte) []byte {
	part := make([]byte, 0, partHeaderBytes+len(data))
	part = append(part, h.Digest[:]...)
	part = binary.BigEndian.AppendUint32(part, h.Part)
	part = binary.BigEndian.AppendUint32(part, h.Count)
	return append(part, data...)
}

// parsePart takes a payload apart.
func parsePart(message convmem.Message) (partHeader, []byte, error) {
	var header partHeader
	n, err := binary.Decode(message.Payload.Data, binary.BigEndian, &header)
	if err != nil || header.Part < 1 || header.Part > header.Count {
		return partHeader{}, nil, unreadable(message.ID, "no part of a checkpoint, though it is in the session of one", err)
	}
	return header, message.Payload.Data[n:], nil
}

// collected is the end of a checkpoint, from some part to the last one.
type collected struct {
	lastID string     // of the message of the last part; "" before the first add
	wanted partHeader // of the part before those that are here
	chunks [][]byte   // last part first
	size   int
}

// add takes a part that is older than all before. It reports false when the
// checkpoint needs no more or cannot become complete.
func (c *collected) add(message convmem.Message) (bool, error) {
	header, data, err := parsePart(message)
	if err != nil {
		return false, err
	}
	if c.lastID == "" {
		c.lastID = message.ID
		c.wanted = partHeader{Digest: header.Digest, Part: header.Count, Count: header.Count}
	}
	if header != c.wanted {
		return false, nil
	}
	c.wanted.Part--
	c.chunks = append(c.chunks, data)
	c.size += len(data)
	return c.wanted.Part > 0, nil
}

func (c *collected) complete() bool { return c.lastID != "" && c.wanted.Part == 0 }

// join puts the parts together. Its results are those of [CheckPoints.Get].
func (c *collected) join() ([]byte, bool, error) {
	checkPoint := make([]byte, 0, c.size) // not nil, even when empty
	for _, chunk := range slices.Backward(c.chunks) {
		checkPoint = append(checkPoint, chunk...)
	}
	if sha256.Sum256(checkPoint) != c.wanted.Digest {
		return nil, false, fmt.Errorf("eino: get checkpoint: %w",
			unreadable(c.lastID, "the checkpoint that ends here is not the one that was set", nil))
	}
	return checkPoint, true, nil
}
