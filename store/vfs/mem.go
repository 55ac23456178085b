package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
)

// DefaultBlockSize is the block size of a Mem that was not given another one:
// the size of a disk sector, which drives write whole or not at all.
const DefaultBlockSize = 512

// maxBlocks bounds the block table of one file to 256 MB of memory, so that a
// wild offset is an error and not the end of the process.
const maxBlocks = 1 << 24

// Mem is a file system in memory that knows which of its states a power cut
// could leave behind. It is safe for use by many goroutines at once, and several
// stores over one Mem behave like several processes over one directory.
//
// # What it remembers
//
// Every file has the content that reads see, and the content that is durable.
// Both are divided into blocks. For every block, the Mem keeps the versions that
// writes and truncations have given it since the file was last synced: a version
// is the whole block as reads saw it after a call. Sizes have versions too. A
// sync makes the visible content durable and forgets the versions. Likewise the
// directory keeps, for every name, the file it durably stands for (or none) and
// the files (or none) it has stood for since the last SyncDir.
//
// # What a power cut leaves
//
// A crash image chooses, independently for every block, the size of every file
// and every name, the durable value or any of the versions. So writes reach the
// disk in any order or not at all, whole blocks at a time; a file may grow before
// its bytes arrive, in which case they are zero; a truncation may free some
// blocks and not others; a rename may leave both names (then one file under two
// names) or neither. File systems promise more than this; none promises less.
// Bytes beyond the chosen size are gone for good. See [Mem.CrashImages],
// [Mem.CrashImage] and [Mem.Kill].
//
// # A sync that fails
//
// [Dropper] makes a file or the directory behave as Linux does after a sync that
// failed and lost data: versions are forgotten as if they were durable, so that
// later syncs skip them, while reads go on showing them. A later write or
// truncation makes the blocks it changes pending again as reads see them; a write
// that extends the file or ends beyond the durable size, or any truncation, does
// so for the size. The directory is written whole: the next change of any name
// makes all of it pending again, but until then SyncDir does nothing and says
// that all is well.
type Mem struct {
	mu        sync.Mutex
	blockSize int64
	dir       directory
}

var (
	_ FS      = (*Mem)(nil)
	_ Dropper = (*Mem)(nil)
	_ Dropper = (*memFile)(nil)
)

// Dropper is what a Mem and its files implement so that a test can make a sync
// fail the way Linux does.
type Dropper interface {
	// DropUnsynced forgets what a sync would have written now. See [Mem].
	// On a Mem it means the directory, on a file that file alone.
	DropUnsynced()
}

// NewMem returns an empty directory with blocks of blockSize bytes;
// [DefaultBlockSize] when that is 0. Smaller blocks tear writes finer and make
// more crash images. It panics when blockSize is negative.
func NewMem(blockSize int) *Mem {
	if blockSize < 0 {
		panic(fmt.Sprintf("vfs: block size %d is negative", blockSize))
	}
	if blockSize == 0 {
		blockSize = DefaultBlockSize
	}
	return &Mem{blockSize: int64(blockSize), dir: newDirectory()}
}

// Create implements [FS].
func (m *Mem) Create(name string) (File, error) {
	if err := checkName("create", name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dir.visible[name] != nil {
		return nil, pathError("create", name, fs.ErrExist)
	}
	return &memFile{mem: m, name: name, node: m.create(name)}, nil
}

func (m *Mem) create(name string) *inode {
	node := newInode(m.blockSize)
	m.dir.set(name, node)
	return node
}

// Open implements [FS].
func (m *Mem) Open(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.lookup("open", name)
	if err != nil {
		return nil, err
	}
	return &memFile{mem: m, name: name, node: node}, nil
}

// OpenRead implements [FS].
func (m *Mem) OpenRead(name string) (File, error) {
	file, err := m.Open(name)
	return readOnly(name, file, err)
}

func (m *Mem) lookup(op, name string) (*inode, error) {
	if err := checkName(op, name); err != nil {
		return nil, err
	}
	node := m.dir.visible[name]
	if node == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	return node, nil
}

// Rename implements [FS]. Files may be open. Two names of one file, which a
// crash image can have, both stay, as POSIX says.
func (m *Mem) Rename(oldName, newName string) error {
	if err := checkName("rename", newName); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.lookup("rename", oldName)
	if err != nil || m.dir.visible[newName] == node {
		return err
	}
	m.dir.set(newName, node)
	m.dir.set(oldName, nil)
	return nil
}

// Remove implements [FS].
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.lookup("remove", name); err != nil {
		return err
	}
	m.dir.set(name, nil)
	return nil
}

// List implements [FS]. It never fails.
func (m *Mem) List() ([]string, error) { return m.Names(), nil }

// SyncDir implements [FS]. It never fails.
func (m *Mem) SyncDir() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dir.sync()
	return nil
}

// SameFile implements [FS]. The file must come from this Mem.
func (m *Mem) SameFile(name string, f File) (bool, error) {
	file, ok := unwrap(f).(*memFile)
	if !ok || file.mem != m {
		return false, pathError("stat", name, errForeignFile)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if file.closed {
		return false, pathError("stat", name, fs.ErrClosed)
	}
	node, err := m.lookup("stat", name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && node == file.node, err
}

// DropUnsynced implements [Dropper] for the directory.
func (m *Mem) DropUnsynced() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dir.drop()
}

// Evict throws the page cache away, as memory pressure may at any time: what a
// failed sync has dropped stops being visible, and reads show the durable state
// instead. What is still pending stays, in memory and pending. Without a
// dropped change it does nothing.
func (m *Mem) Evict() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, node := range m.dir.inodes() {
		node.evict()
	}
	m.dir.evict()
}

// Names returns the visible names, sorted.
func (m *Mem) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, 0, len(m.dir.visible))
	for name := range m.dir.visible {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// ReadFile returns a copy of the file's visible bytes.
func (m *Mem) ReadFile(name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.lookup("read", name)
	if err != nil {
		return nil, err
	}
	data := make([]byte, node.size)
	node.read(data, 0)
	return data, nil
}

// WriteFile gives a file new content, visible and durable at once, as if it had
// been on the disk all along: tests prepare and damage stores with it. An
// existing file stays the same file, so open handles see the new content. A new
// one is made, and its name is durable.
func (m *Mem) WriteFile(name string, data []byte) error {
	if err := checkName("write", name); err != nil {
		return err
	}
	if blocks(int64(len(data)), m.blockSize) > maxBlocks {
		return pathError("write", name, errTooLarge)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	node := m.dir.visible[name]
	if node == nil {
		node = newInode(m.blockSize)
	}
	node.replace(data)
	m.dir.plant(name, node)
	return nil
}
