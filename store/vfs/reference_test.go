package vfs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// reference is the model of Mem's documentation in its plainest form: whole
// copies, fixed sizes, no sharing. It is slow and short, and the property tests
// hold Mem against it.
type reference struct {
	blockSize int
	visible   map[string]*referenceFile
	durable   map[string]*referenceFile
	versions  map[string][]*referenceFile
	dirty     bool
}

const referenceCapacity = 12 // bytes of a file; a multiple of all block sizes

type referenceFile struct {
	visible, durable  [referenceCapacity]byte // zero beyond the size
	size, durableSize int
	sizes             []int
	versions          map[int][]string // per block
	blockSize         int
}

func newReference(blockSize int) *reference {
	return &reference{
		blockSize: blockSize,
		visible:   map[string]*referenceFile{},
		durable:   map[string]*referenceFile{},
		versions:  map[string][]*referenceFile{},
	}
}

func (r *reference) set(name string, file *referenceFile) {
	if !r.dirty {
		r.dirty = true
		for _, other := range r.names() {
			if r.visible[other] != r.durable[other] {
				r.versions[other] = append(r.versions[other], r.visible[other])
			}
		}
	}
	r.visible[name] = file
	r.versions[name] = append(r.versions[name], file)
}

func (r *reference) names() []string {
	all := slices.Concat(slices.Collect(maps.Keys(r.visible)), slices.Collect(maps.Keys(r.durable)))
	slices.Sort(all)
	return slices.Compact(all)
}

func (r *reference) create(name string) *referenceFile {
	file := &referenceFile{blockSize: r.blockSize, versions: map[int][]string{}}
	r.set(name, file)
	return file
}

func (r *reference) rename(from, to string) {
	if r.visible[from] != r.visible[to] {
		r.set(to, r.visible[from])
		r.set(from, nil)
	}
}

func (r *reference) syncDir() {
	if r.dirty {
		r.durable = maps.Clone(r.visible)
	}
	r.dropDir()
}

func (r *reference) dropDir() {
	r.versions, r.dirty = map[string][]*referenceFile{}, false
}

func (r *reference) evict() {
	for _, name := range r.names() {
		for _, file := range append(r.versions[name], r.visible[name], r.durable[name]) {
			if file != nil {
				file.evict()
			}
		}
	}
	if !r.dirty {
		r.visible = maps.Clone(r.durable)
	}
}

func (f *referenceFile) block(of *[referenceCapacity]byte, i int) []byte {
	return of[i*f.blockSize : (i+1)*f.blockSize]
}

// touch makes the blocks from the one at byte start up to byte end pending.
func (f *referenceFile) touch(start, end int) {
	for i := start / f.blockSize; i*f.blockSize < end; i++ {
		f.versions[i] = append(f.versions[i], string(f.block(&f.visible, i)))
	}
}

func (f *referenceFile) markSize() {
	if newest := append([]int{f.durableSize}, f.sizes...); newest[len(newest)-1] != f.size {
		f.sizes = append(f.sizes, f.size)
	}
}

func (f *referenceFile) write(data string, off int) {
	end := off + len(data)
	copy(f.visible[off:], data)
	f.touch(off, end)
	if end > f.size || end > f.durableSize {
		f.size = max(f.size, end)
		f.markSize()
	}
}

func (f *referenceFile) truncate(size int) {
	clear(f.visible[size:])
	f.touch(size, f.size)
	f.size = size
	f.markSize()
}

func (f *referenceFile) sync() {
	for i := range f.versions {
		copy(f.block(&f.durable, i), f.block(&f.visible, i))
	}
	if len(f.sizes) > 0 {
		f.durableSize = f.size
		clear(f.durable[f.size:])
	}
	f.drop()
}

func (f *referenceFile) drop() {
	f.sizes, f.versions = nil, map[int][]string{}
}

func (f *referenceFile) evict() {
	dropped := len(f.sizes) == 0
	if dropped {
		f.size = max(f.size, f.durableSize)
	}
	for i := range referenceCapacity / f.blockSize {
		if len(f.versions[i]) == 0 {
			copy(f.block(&f.visible, i), f.block(&f.durable, i))
		}
	}
	clear(f.visible[f.size:])
	if dropped && f.size > f.durableSize {
		f.truncate(f.durableSize)
	}
}

// images returns every content that the file can have after a crash.
func (f *referenceFile) images() []string {
	set := map[string]bool{}
	for _, size := range append(f.sizes, f.durableSize) {
		contents := []string{""}
		for i := range referenceCapacity / f.blockSize {
			var longer []string
			for _, head := range contents {
				for _, block := range append(f.versions[i], string(f.block(&f.durable, i))) {
					longer = append(longer, head+block)
				}
			}
			contents = distinctStrings(longer)
		}
		for _, content := range contents {
			set[content[:size]] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// images returns every disk after a crash, as the function disk writes it.
func (r *reference) images() []string {
	var all []string
	var choose func(names []string, text []string, chosen map[*referenceFile]string)
	choose = func(names []string, text []string, chosen map[*referenceFile]string) {
		if len(names) == 0 {
			all = append(all, strings.Join(text, " "))
			return
		}
		for _, file := range append(r.versions[names[0]], r.durable[names[0]]) {
			if file == nil {
				choose(names[1:], text, chosen)
				continue
			}
			contents := file.images()
			if content, twice := chosen[file]; twice {
				contents = []string{content}
			}
			for _, content := range contents {
				now := maps.Clone(chosen)
				now[file] = content
				entry := fmt.Sprintf("%s=%s", names[0], strings.ReplaceAll(content, "\x00", "."))
				choose(names[1:], append(slices.Clone(text), entry), now)
			}
		}
	}
	choose(r.names(), nil, map[*referenceFile]string{})
	return distinctStrings(all)
}

func (r *reference) disk() string {
	var parts []string
	for _, name := range r.names() {
		if file := r.visible[name]; file != nil {
			content := strings.ReplaceAll(string(file.visible[:file.size]), "\x00", ".")
			parts = append(parts, name+"="+content)
		}
	}
	return strings.Join(parts, " ")
}

func distinctStrings(values []string) []string {
	slices.Sort(values)
	return slices.Compact(values)
}
