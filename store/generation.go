package store

import (
	"errors"
	"fmt"
	"io"

	"example.com/convmem/store/vfs"
	"github.com/oklog/ulid/v2"
)

// Sink is state that a caller derives from the records, such as an index. The
// log fills it in log order, and makes a new one for every new log file, so that
// it never outlives the records it came from.
type Sink interface {
	// Apply takes the next durable record. It is never called while a
	// function given to [Log.View] runs on the same sink. An error means that
	// the record breaks the caller's invariants; the store then counts as
	// corrupt. What a function given to [Log.Update] puts is on disk before
	// Apply sees it, so it must never be a record that Apply refuses.
	Apply(Record) error
}

// Carrier is a Sink that remembers more than the live records tell and carries it
// over rebuilds, in the log.
type Carrier interface {
	Sink
	// Carry returns what is to be carried, nil for nothing, at most MaxPayload
	// bytes. It is called while no Apply runs, and everybody waits for it.
	Carry() []byte
	// Receive takes over what Carry of an earlier sink returned, which is
	// valid until it returns. It is called before Apply, and may be called
	// after [Saver.Restore] with what that has taken over already.
	Receive([]byte) error
}

// Record is one change of the log.
type Record struct {
	ID      ulid.ULID
	Seq     uint64 // grows from record to record, with gaps
	Deleted bool
	Payload []byte // valid during Apply only; nil when Deleted
}

// location is where the live state of a record stands.
type location struct {
	offset int64
	size   int64
}

// counts describes the frames of one log file.
type counts struct {
	records   int64 // puts and deletes
	deletes   int64
	updates   int64 // puts of a record that was live
	liveBytes int64 // of frames of live records
	carried   int64 // bytes of carry frames
}

// generation is one log file and everything derived from it. Its bytes below
// end never change. The fields behind end belong to the writer; readers see
// them under the Log's lock.
type generation struct {
	name   string
	file   vfs.File
	header header
	salt   uint32

	sink   Sink
	table  *table
	end    position // behind the last durable, applied frame
	last   lastFrame
	lastID ulid.ULID
	counts counts
	// watermark is an offset known to be durable, whatever LOCK says.
	watermark int64
	// short is why loading stopped before what is known to be durable, or nil.
	short error
	// partial says that the snapshot this started from lacked something for the
	// sink: the next one is due whatever has been written since.
	partial bool
	// guess is set when a reader has applied more than LOCK vouches for.
	guess *guess
}

// lastFrame is the frame that ends at generation.end, zero if there is none.
type lastFrame struct {
	kind   kind
	offset int64
}

// openGeneration opens the log file of a generation and checks its header. No
// frame is read yet.
func (l *Log) openGeneration(number uint64) (*generation, error) {
	name := logName(number)
	open := l.fs.Open
	if l.options.ReadOnly {
		open = l.fs.OpenRead
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(name, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return newGeneration(name, file, h, l.options.NewSink()), nil
}

func readHeader(name string, file vfs.File) (header, error) {
	b := make([]byte, headerSize)
	n, err := file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return header{}, err
	}
	return decodeHeader(name, b[:n])
}

func newGeneration(name string, file vfs.File, h header, sink Sink) *generation {
	return &generation{
		name:   name,
		file:   file,
		header: h,
		salt:   h.salt(),
		sink:   sink,
		table:  newTable(),
		end:    h.start(),
		lastID: h.lastID,

		watermark: h.sealedEnd,
	}
}

// load applies whole groups from end up to limit. It returns nil when they
// reach limit, and a *badFrame at the group where they stop.
func (g *generation) load(limit int64) error {
	s := newScanner(g.file, g.salt, g.end, limit)
	for {
		frames, err := s.group()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := g.apply(frames, s.at); err != nil {
			return err
		}
	}
}

// apply takes a durable group over into table, counts and sink.
func (g *generation) apply(frames []located, end position) error {
	for _, f := range frames {
		if err := g.applyFrame(f); err != nil {
			return g.corrupt(f, err)
		}
		g.last = lastFrame{kind: f.kind, offset: f.offset}
		g.watermark = max(g.watermark, f.synced)
	}
	g.end = end
	return nil
}

func (g *generation) corrupt(f located, err error) error {
	return &CorruptError{File: g.name, Offset: f.offset, ID: f.id, Reason: err.Error(), Err: err}
}

func (g *generation) applyFrame(f located) error {
	switch f.kind {
	case kindPut, kindDelete:
	case kindClean:
		return nil
	case kindCarry:
		g.counts.carried += f.size
		return g.receive(f.payload)
	default:
		return unknownKind(f.kind)
	}
	if err := g.count(f); err != nil {
		return err
	}
	if g.lastID.Compare(f.id) < 0 {
		g.lastID = f.id
	}
	return g.sink.Apply(Record{ID: f.id, Seq: f.seq, Deleted: f.kind == kindDelete, Payload: f.record()})
}

func unknownKind(k kind) error {
	return fmt.Errorf("a frame of kind %d, which this version does not know: %w", k, errInvariant)
}

// receive hands what an earlier sink has carried over to this one.
func (g *generation) receive(payload []byte) error {
	carrier, ok := g.sink.(Carrier)
	if !ok {
		return nil
	}
	return carrier.Receive(payload)
}

// count takes a put or delete over into table and counts.
func (g *generation) count(f located) error {
	var old location
	var existed bool
	if f.kind == kindDelete {
		if old, existed = g.table.remove(f.id); !existed {
			return fmt.Errorf("a delete of a record that does not exist: %w", errInvariant)
		}
		g.counts.deletes++
	} else {
		if old, existed = g.table.put(f.id, location{offset: f.offset, size: f.size}); existed {
			g.counts.updates++
		}
		g.counts.liveBytes += f.size
	}
	g.counts.records++
	g.counts.liveBytes -= old.size
	return nil
}

// record is the payload as the caller sees it.
func (f frame) record() []byte {
	if f.kind == kindDelete {
		return nil
	}
	return f.payload
}

// errInvariant marks intact frames that contradict each other.
var errInvariant = errors.New("stored records contradict each other")

// get returns the payload of the live record under id.
func (g *generation) get(id ulid.ULID) ([]byte, error) {
	at, ok := g.table.get(id)
	if !ok {
		return nil, ErrNotFound
	}
	f, err := g.readRecord(id, at)
	if err != nil {
		return nil, err
	}
	return f.payload, nil
}

// readRecord reads and checks the frame that holds the live record id.
func (g *generation) readRecord(id ulid.ULID, at location) (frame, error) {
	f, err := readFrameAt(g.file, g.salt, at.offset, at.size)
	return f, g.checkRecord(f, err, id, at)
}

// checkRecord returns why what was read at a place, or err, is not the live
// record id that should stand there.
func (g *generation) checkRecord(f frame, err error, id ulid.ULID, at location) error {
	if err == nil && (f.id != id || f.kind != kindPut) {
		err = &badFrame{offset: at.offset, reason: "another record stands here"}
	}
	var bad *badFrame
	if errors.As(err, &bad) {
		return &CorruptError{File: g.name, Offset: at.offset, ID: id, Reason: bad.reason}
	}
	return err
}

// lastSeq is the greatest sequence number ever used.
func (g *generation) lastSeq() uint64 { return max(g.header.lastSeq, g.end.seq) }

// deadBytes is what a rebuild would free.
func (g *generation) deadBytes() int64 {
	return g.end.offset - headerSize - g.counts.liveBytes - g.counts.carried
}

// slot says what is durable in this generation.
func (g *generation) slot() slot {
	return slot{fileID: g.header.fileID, generation: g.header.generation, durableEnd: g.end.offset, chain: g.end.chain}
}
