package vfs

import (
	"maps"
	"slices"
)

// directory is the table of names of a Mem. A nil inode means that the name
// does not exist; the maps visible and durable hold no nil.
type directory struct {
	visible map[string]*inode
	durable map[string]*inode
	// pending has the versions of a name since the last sync, oldest first;
	// the newest is always the visible one.
	pending map[string][]*inode
	// dirty says that a sync has something to write. It differs from
	// "visible differs from durable" only after a failed sync.
	dirty bool
}

func newDirectory() directory {
	return directory{
		visible: map[string]*inode{},
		durable: map[string]*inode{},
		pending: map[string][]*inode{},
	}
}

// set gives name the file node. The first change after a sync, good or failed,
// makes every difference from the disk pending, because a directory is written
// whole; after a good sync there are no others.
func (d *directory) set(name string, node *inode) {
	if !d.dirty {
		d.dirty = true
		for other := range d.names() {
			if d.visible[other] != d.durable[other] {
				d.pending[other] = []*inode{d.visible[other]}
			}
		}
	}
	put(d.visible, name, node)
	d.pending[name] = append(d.pending[name], node)
}

// plant makes name durable and visible without touching other names.
func (d *directory) plant(name string, node *inode) {
	put(d.visible, name, node)
	put(d.durable, name, node)
	delete(d.pending, name)
}

func put(names map[string]*inode, name string, node *inode) {
	if node == nil {
		delete(names, name)
	} else {
		names[name] = node
	}
}

func (d *directory) sync() {
	if d.dirty {
		d.durable = maps.Clone(d.visible)
		d.drop()
	}
}

func (d *directory) drop() {
	d.pending = map[string][]*inode{}
	d.dirty = false
}

// evict has nothing to do in a dirty directory: that one is pending as a whole.
func (d *directory) evict() {
	if !d.dirty {
		d.visible = maps.Clone(d.durable)
	}
}

// names is the set of names that exist or may exist after a crash.
func (d *directory) names() map[string]bool {
	set := map[string]bool{}
	for name := range d.visible {
		set[name] = true
	}
	for name := range d.durable {
		set[name] = true
	}
	for name := range d.pending {
		set[name] = true
	}
	return set
}

func (d *directory) sortedNames() []string {
	return slices.Sorted(maps.Keys(d.names()))
}

// versions returns what name may stand for after a crash: the durable file
// first, each only once.
func (d *directory) versions(name string) []*inode {
	return distinct(append([]*inode{d.durable[name]}, d.pending[name]...))
}

// inodes returns every file that has a name or may have one after a crash, in
// a fixed order.
func (d *directory) inodes() []*inode {
	var all []*inode
	for _, name := range d.sortedNames() {
		all = append(all, d.visible[name])
		all = append(all, d.versions(name)...)
	}
	return distinct(slices.DeleteFunc(all, func(node *inode) bool { return node == nil }))
}

// clone returns a directory of copies of all files. Two names of one file are
// two names of one copy.
func (d *directory) clone() directory {
	copies := map[*inode]*inode{nil: nil}
	for _, node := range d.inodes() {
		copies[node] = node.clone()
	}
	result := newDirectory()
	result.dirty = d.dirty
	for name, node := range d.visible {
		result.visible[name] = copies[node]
	}
	for name, node := range d.durable {
		result.durable[name] = copies[node]
	}
	for name, versions := range d.pending {
		for _, node := range versions {
			result.pending[name] = append(result.pending[name], copies[node])
		}
	}
	return result
}

// distinct removes repeated values and keeps the first of each. The lists are
// short: a search is cheaper than a set.
func distinct[T comparable](values []T) []T {
	kept := values[:0]
	for _, value := range values {
		if !slices.Contains(kept, value) {
			kept = append(kept, value)
		}
	}
	return kept
}
