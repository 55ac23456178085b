package vfs

import (
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// maxDirectories is how many states of the directory CrashImageCount looks at.
const maxDirectories = 1 << 12

// Kill returns what the end of all processes leaves, without a power cut: all
// that is visible, with everything that is still pending still pending, and no
// lock held. The result is independent of m, which stays as it is.
func (m *Mem) Kill() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Mem{blockSize: m.blockSize, dir: m.dir.clone()}
}

// CrashImages returns an iterator over every state in which a power cut at this
// moment could leave the disk, as described at [Mem]. The moment is when the
// iteration starts; m may be used during it, and stays as it is. Each image is
// a new Mem of the same block size in which everything is durable and no lock
// is held. Versions that are equal make one image, not two; two files that have
// had the same name are two, whatever their bytes. The order is the same in every
// run and begins with the durable state of everything.
//
// An image costs memory of about 16 bytes per block; bytes are shared. There
// may be more images than can be looked at, see [Mem.CrashImageCount].
func (m *Mem) CrashImages() iter.Seq[*Mem] {
	return func(yield func(*Mem) bool) {
		frozen := m.Kill()
		for names, choice := range frozen.dir.states() {
			if !frozen.imagesOf(names, choice, yield) {
				return
			}
		}
	}
}

// imagesOf yields the images in which names stand for the chosen files.
func (m *Mem) imagesOf(names []string, choice []*inode, yield func(*Mem) bool) bool {
	files := chosenFiles(choice)
	survivors := map[*inode]*inode{}
	var choose func(next int) bool
	choose = func(next int) bool {
		if next == len(files) {
			return yield(m.image(names, choice, survivors))
		}
		for survivor := range files[next].images() {
			survivors[files[next]] = survivor
			if !choose(next + 1) {
				return false
			}
		}
		return true
	}
	return choose(0)
}

// image builds the Mem in which each name stands for its file's survivor.
// Survivors are copied, once per file, since other images use them too.
func (m *Mem) image(names []string, choice []*inode, survivors map[*inode]*inode) *Mem {
	copies := map[*inode]*inode{}
	dir := newDirectory()
	for i, file := range choice {
		if file == nil {
			continue
		}
		if copies[file] == nil {
			copies[file] = survivors[file].clone()
		}
		dir.plant(names[i], copies[file])
	}
	return &Mem{blockSize: m.blockSize, dir: dir}
}

// CrashImageCount returns how many images [Mem.CrashImages] would yield now, or
// math.MaxInt when that is the number or less than the number, or when the
// directory alone has more than 4,096 states. It makes no image.
func (m *Mem) CrashImageCount() int {
	frozen := m.Kill()
	total, directories := 0, 0
	for _, choice := range frozen.dir.states() {
		if directories++; directories > maxDirectories {
			return math.MaxInt
		}
		product := 1
		for _, file := range chosenFiles(choice) {
			product = saturatingMul(product, file.imageCount())
		}
		total = saturatingAdd(total, product)
	}
	return total
}

// CrashImage returns one of the images of [Mem.CrashImages]. Every image can
// come, but not equally often: a third of the calls choose evenly for each
// block, size and name, a third mostly the oldest value, a third mostly the
// newest, because disks that lost, or kept, a few writes out of many are the
// likely ones and hardly ever come from even choices. The same state and the
// same r give the same image.
func (m *Mem) CrashImage(r *rand.Rand) *Mem {
	pick := picker(r)
	frozen := m.Kill()
	names := frozen.dir.sortedNames()
	choice := make([]*inode, len(names))
	for i, name := range names {
		choice[i] = oneOf(pick, frozen.dir.versions(name))
	}
	survivors := map[*inode]*inode{}
	for _, file := range chosenFiles(choice) {
		size := oneOf(pick, file.possibleSizes())
		indexes, axes := file.possibleBlocks(size)
		contents := make([]string, len(axes))
		for i, axis := range axes {
			contents[i] = oneOf(pick, axis)
		}
		survivors[file] = file.survivor(size, indexes, contents)
	}
	return frozen.image(names, choice, survivors)
}

// picker returns a function that chooses one of n values, oldest first.
func picker(r *rand.Rand) func(n int) int {
	favourite := r.IntN(3)
	return func(n int) int {
		if favourite == 0 || r.IntN(8) == 0 {
			return r.IntN(n)
		}
		if favourite == 1 {
			return 0
		}
		return n - 1
	}
}

func oneOf[T any](pick func(n int) int, values []T) T { return values[pick(len(values))] }

// states yields the names, sorted, and for each the file it stands for in one
// state of the directory. The slices are valid until the next step.
func (d *directory) states() iter.Seq2[[]string, []*inode] {
	names := d.sortedNames()
	axes := make([][]*inode, len(names))
	for i, name := range names {
		axes[i] = d.versions(name)
	}
	return func(yield func([]string, []*inode) bool) {
		for choice := range product(axes) {
			if !yield(names, choice) {
				return
			}
		}
	}
}

// chosenFiles returns each file of a choice once.
func chosenFiles(choice []*inode) []*inode {
	files := slices.DeleteFunc(slices.Clone(choice), func(file *inode) bool { return file == nil })
	return distinct(files)
}

// images yields every durable state of one file after a crash, each once: two
// of the same size differ in a block within that size.
func (n *inode) images() iter.Seq[*inode] {
	return func(yield func(*inode) bool) {
		for _, size := range n.possibleSizes() {
			indexes, axes := n.possibleBlocks(size)
			for contents := range product(axes) {
				if !yield(n.survivor(size, indexes, contents)) {
					return
				}
			}
		}
	}
}

func (n *inode) imageCount() int {
	total := 0
	for _, size := range n.possibleSizes() {
		_, axes := n.possibleBlocks(size)
		count := 1
		for _, axis := range axes {
			count = saturatingMul(count, len(axis))
		}
		total = saturatingAdd(total, count)
	}
	return total
}

func (n *inode) possibleSizes() []int64 {
	return distinct(append([]int64{n.durableSize}, n.sizes...))
}

// possibleBlocks returns, for the blocks within size that may differ from the
// visible ones, their indexes and the contents each may have, oldest first.
func (n *inode) possibleBlocks(size int64) (indexes []int64, axes [][]string) {
	for _, i := range slices.Sorted(maps.Keys(n.behind)) {
		keep := size - i*n.blockSize
		if keep <= 0 {
			break
		}
		contents := []string{cut(n.behind[i].durable, keep)}
		for _, version := range n.behind[i].versions {
			contents = append(contents, cut(version, keep))
		}
		indexes, axes = append(indexes, i), append(axes, distinct(contents))
	}
	return indexes, axes
}

// survivor returns the file, durable, with the given size and the given
// contents of the blocks at indexes.
func (n *inode) survivor(size int64, indexes []int64, contents []string) *inode {
	result := newInode(n.blockSize)
	result.blocks = slices.Clone(n.blocks)
	result.resize(size)
	if last := len(result.blocks) - 1; last >= 0 {
		result.blocks[last] = cut(result.blocks[last], size-int64(last)*n.blockSize)
	}
	for i, content := range contents {
		result.blocks[indexes[i]] = content
	}
	result.durableSize = size
	return result
}

// product yields every way to take one value from each axis; the last axis
// changes fastest. There is one way to take nothing from no axes. The slice is
// valid until the next step.
func product[T any](axes [][]T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		choice := make([]T, len(axes))
		var choose func(next int) bool
		choose = func(next int) bool {
			if next == len(axes) {
				return yield(choice)
			}
			for _, value := range axes[next] {
				choice[next] = value
				if !choose(next + 1) {
					return false
				}
			}
			return true
		}
		choose(0)
	}
}

func saturatingMul(a, b int) int {
	if b != 0 && a > math.MaxInt/b {
		return math.MaxInt
	}
	return a * b
}

func saturatingAdd(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
