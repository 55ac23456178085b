package vfs

import (
	"maps"
	"slices"
	"strings"
)

// inode is the content of one file of a Mem. A block is a string without its
// trailing zeros, so equal blocks are equal strings, a hole is "", and copies of
// a file share all blocks. The Mem's mutex guards it.
type inode struct {
	blockSize int64
	size      int64
	blocks    []string // visible; exactly as many as size needs, nothing beyond size

	durableSize int64
	sizes       []int64 // versions since the last sync; the newest is size
	// behind has the blocks, also beyond size, whose durable bytes are not or
	// may not be the visible ones. Every other block is visible as on disk.
	behind map[int64]*block

	holder  *memLock // the exclusive holder of the lock
	sharers int      // how many hold it shared
}

// block is what is known of a block besides its visible bytes. Without versions
// it is one that a failed sync has dropped.
type block struct {
	durable  string
	versions []string // since the last sync, oldest first; the newest is visible
}

func newInode(blockSize int64) *inode {
	return &inode{blockSize: blockSize, behind: map[int64]*block{}}
}

func (n *inode) clone() *inode {
	result := *n
	result.holder, result.sharers = nil, 0
	result.blocks = slices.Clone(n.blocks)
	result.sizes = slices.Clone(n.sizes)
	result.behind = make(map[int64]*block, len(n.behind))
	for i, b := range n.behind {
		result.behind[i] = &block{durable: b.durable, versions: slices.Clone(b.versions)}
	}
	return &result
}

// read fills p from offset off, which must leave p within size.
func (n *inode) read(p []byte, off int64) {
	clear(p)
	for len(p) > 0 {
		i, start := off/n.blockSize, off%n.blockSize
		length := min(int64(len(p)), n.blockSize-start)
		if content := n.blocks[i]; int64(len(content)) > start {
			copy(p[:length], content[start:])
		}
		p, off = p[length:], off+length
	}
}

func (n *inode) write(p []byte, off int64) {
	end := off + int64(len(p))
	grows := end > n.size
	if grows {
		n.resize(end)
	}
	if grows || end > n.durableSize {
		n.markSize()
	}
	for len(p) > 0 {
		i, start := off/n.blockSize, off%n.blockSize
		length := min(int64(len(p)), n.blockSize-start)
		n.setBlock(i, overwrite(n.blocks[i], p[:length], int(start)))
		p, off = p[length:], off+length
	}
}

func overwrite(content string, p []byte, start int) string {
	if start == 0 && len(p) >= len(content) {
		return trim(string(p))
	}
	result := make([]byte, max(len(content), start+len(p)))
	copy(result, content)
	copy(result[start:], p)
	return trim(string(result))
}

func (n *inode) truncate(size int64) {
	for i := size / n.blockSize; i < int64(len(n.blocks)); i++ {
		n.setBlock(i, cut(n.blocks[i], size-i*n.blockSize))
	}
	n.resize(size)
	n.markSize()
}

// resize sets the visible size; blocks that it gives up must be cut before.
func (n *inode) resize(size int64) {
	n.size = size
	count := int(blocks(size, n.blockSize))
	if missing := count - len(n.blocks); missing > 0 {
		n.blocks = append(n.blocks, make([]string, missing)...)
	}
	n.blocks = n.blocks[:count]
}

// markSize makes the visible size pending unless it is the newest version or,
// without any, the durable one.
func (n *inode) markSize() {
	newest := n.durableSize
	if len(n.sizes) > 0 {
		newest = n.sizes[len(n.sizes)-1]
	}
	if newest != n.size {
		n.sizes = append(n.sizes, n.size)
	}
}

// setBlock gives a visible block new content and makes it pending. A block that
// gets the bytes it durably has, and has no versions, needs no writing.
func (n *inode) setBlock(i int64, content string) {
	b := n.behind[i]
	if b == nil {
		b = &block{durable: n.blocks[i]}
		n.behind[i] = b
	}
	n.blocks[i] = content
	if len(b.versions) == 0 && b.durable == content {
		delete(n.behind, i)
		return
	}
	if len(b.versions) == 0 || b.versions[len(b.versions)-1] != content {
		b.versions = append(b.versions, content)
	}
}

// visible returns a block's visible bytes; a block beyond the end has none.
func (n *inode) visible(i int64) string {
	if i < int64(len(n.blocks)) {
		return n.blocks[i]
	}
	return ""
}

// sync writes what is pending. Blocks that were dropped keep their old durable
// bytes, but no more of them than fits into a size that is written.
func (n *inode) sync() {
	maps.DeleteFunc(n.behind, func(_ int64, b *block) bool { return len(b.versions) > 0 })
	if len(n.sizes) == 0 {
		return
	}
	n.durableSize, n.sizes = n.size, nil
	for i, b := range n.behind {
		b.durable = cut(b.durable, n.size-i*n.blockSize)
	}
	n.settle()
}

// drop forgets what is pending as if it had been written.
func (n *inode) drop() {
	n.sizes = nil
	for _, b := range n.behind {
		b.versions = nil
	}
	n.settle()
}

// settle stops tracking blocks that are on disk as reads see them.
func (n *inode) settle() {
	maps.DeleteFunc(n.behind, func(i int64, b *block) bool {
		return len(b.versions) == 0 && b.durable == n.visible(i)
	})
}

// evict makes what was dropped invisible. A dropped size comes back only when
// no newer one is pending. A block that is pending and now reaches beyond the
// size is cut, as any other truncation would.
func (n *inode) evict() {
	sizeDropped := len(n.sizes) == 0
	if sizeDropped && n.size < n.durableSize {
		n.resize(n.durableSize)
	}
	for i, b := range n.behind {
		if len(b.versions) == 0 && i < int64(len(n.blocks)) {
			n.blocks[i] = cut(b.durable, n.size-i*n.blockSize)
		}
	}
	n.settle()
	if sizeDropped && n.size > n.durableSize {
		n.truncate(n.durableSize)
	}
}

// replace makes data the visible and durable content.
func (n *inode) replace(data []byte) {
	n.blocks, n.sizes = nil, nil
	n.resize(int64(len(data)))
	for i := range n.blocks {
		start := int64(i) * n.blockSize
		n.blocks[i] = trim(string(data[start:min(start+n.blockSize, n.size)]))
	}
	n.durableSize = n.size
	clear(n.behind)
}

// blocks returns how many blocks size bytes take.
func blocks(size, blockSize int64) int64 {
	return size/blockSize + min(size%blockSize, 1)
}

// cut returns what is left of a block when only length bytes of it are kept.
func cut(content string, length int64) string {
	if length <= 0 {
		return ""
	}
	if int64(len(content)) <= length {
		return content
	}
	return trim(content[:length])
}

func trim(content string) string { return strings.TrimRight(content, "\x00") }
