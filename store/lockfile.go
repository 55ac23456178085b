package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
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

	lockPoll        = time.Millisecond
	defaultLockWait = 5 * time.Second
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
type lockFile struct {
	lock    vfs.Lock
	file    vfs.File
	current slot // the slot that counts; zero when valid is false
	valid   bool
}

// takeLockFile opens LOCK and waits until this handle holds it, or gives up
// with a *BusyError after wait or when ctx ends.
func takeLockFile(ctx context.Context, fsys vfs.FS, wait time.Duration) (*lockFile, error) {
	lock, err := fsys.Lock(lockName)
	if err != nil {
		return nil, err
	}
	file, err := fsys.Open(lockName)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l := &lockFile{lock: lock, file: file}
	if err := l.acquire(ctx, wait); err != nil {
		return nil, errors.Join(err, l.close())
	}
	if err := l.read(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lockFile) acquire(ctx context.Context, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		taken, err := l.lock.TryLock()
		if taken || err != nil {
			return err
		}
		if ctx.Err() != nil || !time.Now().Before(deadline) {
			return l.busy(ctx)
		}
		time.Sleep(lockPoll + rand.N(lockPoll))
	}
}

// busy names the process that last wrote a slot: the holder, once it has opened
// the store.
func (l *lockFile) busy(ctx context.Context) error {
	// The read only improves the message: without it the pid is unknown.
	_ = l.read()
	busy := &BusyError{PID: l.current.pid, Reason: "another process holds the store"}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", busy, ctx.Err())
	}
	return busy
}

// read loads the slot that counts.
func (l *lockFile) read() error {
	b := make([]byte, slotB+slotSize-slotA)
	n, err := l.file.ReadAt(b, slotA)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	clear(b[n:])
	l.current, l.valid = slot{}, false
	for _, half := range [][]byte{b[:slotSize], b[slotB-slotA:]} {
		if s, ok := decodeSlot(half); ok && (!l.valid || s.counter > l.current.counter) {
			l.current, l.valid = s, true
		}
	}
	return nil
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
	return errors.Join(l.lock.Close(), l.file.Close())
}
