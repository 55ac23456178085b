package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"example.com/convmem/store/vfs"
)

const (
	lockName  = "LOCK"
	maintName = "MAINT"

	lockFileSize = 256
	slotSize     = 64
	slotA        = 64
	slotB        = 128
	slotMagic    = 0x746f6c73 // "slot"

	flagDirty = 1

	// waitingAt holds the time at which somebody last found LOCK taken, in Unix
	// ms, or 0. It is a hint for fairness and nothing is concluded from it.
	waitingAt = 192

	lockPoll        = time.Millisecond
	defaultLockWait = 5 * time.Second
	// A process that has just let go steps back for courtesy when somebody
	// waited within the last freshWait, so that its poll can succeed.
	courtesy  = 2 * time.Millisecond
	freshWait = 50 * time.Millisecond
)

// slot is what the holder of LOCK last said about the log. LOCK is never
// synced, so after a power cut a slot may be old; it is never ahead of the disk.
//
//	 0  magic        u32
//	 4  counter      u64, the valid slot with the greater counter counts
//	12  file id      16 bytes
//	28  generation   u64
//	36  durable end  u64
//	44  chain        u32, header CRC of the last durable frame
//	48  flags        u32
//	52  pid          u32
//	56  CRC-32C      u32, of bytes 0 to 55
type slot struct {
	counter    uint64
	fileID     [16]byte
	generation uint64
	durableEnd int64
	chain      uint32
	dirty      bool
	pid        int
}

func (s slot) encode() []byte {
	b := make([]byte, slotSize)
	binary.LittleEndian.PutUint32(b[0:], slotMagic)
	binary.LittleEndian.PutUint64(b[4:], s.counter)
	copy(b[12:], s.fileID[:])
	binary.LittleEndian.PutUint64(b[28:], s.generation)
	binary.LittleEndian.PutUint64(b[36:], uint64(s.durableEnd))
	binary.LittleEndian.PutUint32(b[44:], s.chain)
	if s.dirty {
		binary.LittleEndian.PutUint32(b[48:], flagDirty)
	}
	binary.LittleEndian.PutUint32(b[52:], uint32(s.pid))
	binary.LittleEndian.PutUint32(b[56:], crc32.Checksum(b[:56], castagnoli))
	return b
}

func decodeSlot(b []byte) (s slot, ok bool) {
	if binary.LittleEndian.Uint32(b) != slotMagic ||
		crc32.Checksum(b[:56], castagnoli) != binary.LittleEndian.Uint32(b[56:]) {
		return slot{}, false
	}
	return slot{
		counter:    binary.LittleEndian.Uint64(b[4:]),
		fileID:     [16]byte(b[12:28]),
		generation: binary.LittleEndian.Uint64(b[28:]),
		durableEnd: int64(binary.LittleEndian.Uint64(b[36:])),
		chain:      binary.LittleEndian.Uint32(b[44:]),
		dirty:      binary.LittleEndian.Uint32(b[48:])&flagDirty != 0,
		pid:        int(binary.LittleEndian.Uint32(b[52:])),
	}, true
}

// names reports whether the slot speaks of the log with header h.
func (s slot) names(h header) bool { return s.fileID == h.fileID && s.generation == h.generation }

// lockFile is the file LOCK: byte 0 carries the system's lock, two slots behind
// it carry what its holder says. The slots are written in turn, so a torn write
// leaves the other one.
//
// Anybody may peek. Everything else is for one goroutine of a process at a time:
// the one that writes.
type lockFile struct {
	fs   vfs.FS
	lock vfs.Lock
	file vfs.File

	// What the holder knows: the slot that counts, zero when valid is false.
	current slot
	valid   bool

	released time.Time    // when this process last let go
	waiting  atomic.Int64 // what the last peek found at waitingAt
}

// openLockFile opens LOCK, making it when there is none. Nothing is locked yet.
func openLockFile(fsys vfs.FS) (*lockFile, error) {
	lock, err := fsys.Lock(lockName)
	if err != nil {
		return nil, err
	}
	file, err := fsys.Open(lockName)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &lockFile{fs: fsys, lock: lock, file: file}, nil
}

// openLockFileToRead opens LOCK for one who only looks. Where there is no LOCK,
// nobody writes, and nothing vouches for anything.
func openLockFileToRead(fsys vfs.FS) (*lockFile, error) {
	lock, err := fsys.SharedLock(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return &lockFile{fs: fsys}, nil
	}
	if err != nil {
		return nil, err
	}
	file, err := fsys.OpenRead(lockName)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &lockFile{fs: fsys, lock: lock, file: file}, nil
}

// tryShared keeps writers away if none is there. Where there is no LOCK there is
// no writer.
func (l *lockFile) tryShared() (bool, error) {
	if l.lock == nil {
		return true, nil
	}
	return l.lock.TryLock()
}

func (l *lockFile) releaseShared() error {
	if l.lock == nil {
		return nil
	}
	return l.lock.Unlock()
}

// acquire takes the lock. It gives up with a *BusyError at the deadline, after
// one try at least, or when ctx ends. Between tries it calls meanwhile.
func (l *lockFile) acquire(ctx context.Context, deadline time.Time, meanwhile func() error) error {
	l.stepBack(deadline)
	for {
		taken, err := l.lock.TryLock()
		if taken || err != nil {
			return err
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return l.busy(ctx)
		}
		if err := l.setWaiting(time.Now().UnixMilli()); err != nil {
			return err
		}
		sleep(ctx, lockPoll+rand.N(lockPoll))
		if err := meanwhile(); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stepBack lets others have the lock that this process has just let go of.
// Without it a busy writer would win every race against those who poll.
func (l *lockFile) stepBack(deadline time.Time) {
	if time.Since(l.released) > courtesy || time.Until(deadline) < courtesy {
		return
	}
	since := time.Since(time.UnixMilli(l.waiting.Load()))
	if -freshWait < since && since < freshWait {
		time.Sleep(courtesy)
	}
}

// checkName refuses to go on when somebody removed or replaced LOCK by hand: the
// lock is taken by name, so what others read is another file than l.file.
func (l *lockFile) checkName() error {
	same, err := l.fs.SameFile(lockName, l.file)
	if err == nil && !same {
		err = errors.New(lockName + " was removed or replaced while the store was open; open it again")
	}
	return err
}

// release lets go of the lock.
func (l *lockFile) release() error {
	l.released = time.Now()
	return l.lock.Unlock()
}

// busy names the process that last wrote a slot: most likely the holder.
func (l *lockFile) busy(ctx context.Context) error {
	// The read only improves the message: without it the pid is unknown.
	s, _, _, _ := l.peek()
	busy := &BusyError{PID: s.pid, Reason: "another process holds the store"}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", busy, ctx.Err())
	}
	return busy
}

// peek returns the slot that counts, or valid false when neither is intact, and
// the time of the last who waited. It needs no lock.
//
// A slot that is being written does not check, and the other one may have been
// copied before it was written last. So peek looks again when one does not check;
// LOCK is damaged when that does not help.
func (l *lockFile) peek() (s slot, valid bool, waiting int64, err error) {
	var b [waitingAt + 8 - slotA]byte
	for range 3 {
		n, err := l.readAt(b[:], slotA)
		if err != nil && !errors.Is(err, io.EOF) {
			return slot{}, false, 0, err
		}
		clear(b[n:])
		var torn bool
		if s, valid, torn = newerSlot([][]byte{b[:slotSize], b[slotB-slotA:][:slotSize]}); !torn {
			break
		}
	}
	waiting = int64(binary.LittleEndian.Uint64(b[waitingAt-slotA:]))
	l.waiting.Store(waiting)
	return s, valid, waiting, nil
}

// newerSlot returns the intact slot with the greater counter, and whether one is
// neither intact nor empty.
func newerSlot(halves [][]byte) (s slot, valid, torn bool) {
	for _, half := range halves {
		found, ok := decodeSlot(half)
		if ok && (!valid || found.counter > s.counter) {
			s, valid = found, true
		}
		torn = torn || !ok && binary.LittleEndian.Uint32(half) != 0
	}
	return s, valid, torn
}

// readAt reads LOCK, by name where there was none when the store was opened to be
// read: somebody may have made it since.
func (l *lockFile) readAt(b []byte, at int64) (n int, err error) {
	if l.file != nil {
		return l.file.ReadAt(b, at)
	}
	file, err := l.fs.OpenRead(lockName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, io.EOF
	}
	if err != nil {
		return 0, err
	}
	n, err = file.ReadAt(b, at)
	return n, errors.Join(err, file.Close())
}

// read loads the slot that counts and clears the mark of those who waited. The
// caller holds the lock.
func (l *lockFile) read() error {
	s, valid, waiting, err := l.peek()
	if err != nil {
		return err
	}
	l.current, l.valid = s, valid
	if waiting != 0 {
		return l.setWaiting(0)
	}
	return nil
}

func (l *lockFile) setWaiting(at int64) error {
	b := make([]byte, 8)
	binary.LittleEndian.PutUint64(b, uint64(at))
	_, err := l.file.WriteAt(b, waitingAt)
	return err
}

// write replaces the older slot by s. Only the lock's holder calls it, and with
// a durable end only after the sync that made it true.
func (l *lockFile) write(s slot) error {
	s.counter = l.current.counter + 1
	s.pid = os.Getpid()
	at := int64(slotA)
	if s.counter%2 == 0 {
		at = slotB
	}
	if _, err := l.file.WriteAt(s.encode(), at); err != nil {
		return err
	}
	l.current, l.valid = s, true
	return nil
}

// markDirty says that the log may hold more than the slot knows, keeping the
// slot's identity. Without a valid slot nothing is said to be clean anyway, and
// a dirty slot for a log that was never named would read as a lost log.
func (l *lockFile) markDirty() error {
	if !l.valid || l.current.dirty {
		return nil
	}
	s := l.current
	s.dirty = true
	return l.write(s)
}

// grow gives a new LOCK its full size.
func (l *lockFile) grow() error {
	size, err := l.file.Size()
	if err != nil || size >= lockFileSize {
		return err
	}
	return l.file.Truncate(lockFileSize)
}

func (l *lockFile) close() error {
	if l.file == nil {
		return nil
	}
	return errors.Join(l.lock.Close(), l.file.Close())
}
