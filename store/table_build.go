package store

// buildIndex makes the index of a table that was filled with add, and reports
// whether an id is in it twice. It goes through the buckets one after another,
// each small enough for the fastest memory: putting the records one by one would
// touch another place for each. It takes 12 bytes a record meanwhile.
func (t *table) buildIndex() (twice bool) {
	t.index = newTableIndex(int(t.used))
	hashes, byBucket := t.partition()
	for _, ordinal := range byBucket {
		if t.insertNew(hashes[ordinal], reference(ordinal)) {
			twice = true
		}
	}
	return twice
}

// partition returns the hash of every entry, and the ordinals sorted by the
// bucket that they belong to.
func (t *table) partition() (hashes []uint64, byBucket []uint32) {
	hashes = make([]uint64, t.used)
	ends := make([]uint32, len(t.index.directory)) // of each bucket's part
	for ordinal := range t.used {
		hashes[ordinal] = t.hashOf(reference(ordinal))
		ends[t.index.number(hashes[ordinal])]++
	}
	sum := uint32(0)
	for i, count := range ends {
		ends[i] = sum // where the part begins, for now
		sum += count
	}
	byBucket = make([]uint32, t.used)
	for ordinal, hash := range hashes {
		number := t.index.number(hash)
		byBucket[ends[number]] = uint32(ordinal)
		ends[number]++
	}
	return hashes, byBucket
}

// insertNew adds a reference, unless its id is there already.
func (t *table) insertNew(hash uint64, ref uint32) (twice bool) {
	b, slot := t.index.bucket(hash), homeSlot(hash)
	for ; b.refs[slot] != 0; slot = nextSlot(slot) {
		if b.tags[slot] == tagOf(hash) && t.entry(b.refs[slot]).id == t.entry(ref).id {
			return true
		}
	}
	t.link(b, slot, hash, ref)
	return false
}
