package index

import "hash/maphash"

// dictionary finds the numbers of terms by their texts. It is a hash table with
// open addressing that holds numbers only: the texts stand with the terms, and
// there are so many terms that a map's copies of them would be most of its size.
type dictionary struct {
	seed maphash.Seed
	// slots hold numbers plus one; 0 is free, and gone was taken once.
	slots []uint32
	used  int // slots that are not free
	count int // terms
}

const gone = ^uint32(0)

func newDictionary() dictionary { return dictionary{seed: maphash.MakeSeed()} }

// find returns the number of a term.
func (d *dictionary) find(terms []term, text string) (number uint32, ok bool) {
	if d.count == 0 {
		return 0, false
	}
	for at := d.begin(text); ; at = d.next(at) {
		switch n := d.slots[at]; {
		case n == 0:
			return 0, false
		case n != gone && terms[n-1].text == text:
			return n - 1, true
		}
	}
}

// begin returns where the search for a text begins.
func (d *dictionary) begin(text string) int {
	return int(maphash.String(d.seed, text) & uint64(len(d.slots)-1))
}

func (d *dictionary) next(at int) int { return (at + 1) & (len(d.slots) - 1) }

// insert adds a number whose text is not there yet.
func (d *dictionary) insert(terms []term, number uint32) {
	if 4*(d.used+1) > 3*len(d.slots) {
		d.rehash(terms)
	}
	d.put(terms, number)
	d.count++
}

func (d *dictionary) put(terms []term, number uint32) {
	at := d.begin(terms[number].text)
	for d.slots[at] != 0 {
		at = d.next(at)
	}
	d.slots[at] = number + 1
	d.used++
}

// rehash makes room, and forgets the slots of terms that are gone.
func (d *dictionary) rehash(terms []term) {
	size := 64
	for 2*size < 4*(d.count+1) {
		size *= 2
	}
	old := d.slots
	d.slots, d.used = make([]uint32, size), 0
	for _, n := range old {
		if n != 0 && n != gone {
			d.put(terms, n-1)
		}
	}
}

// remove forgets a number, whose text must still be there.
func (d *dictionary) remove(terms []term, number uint32) {
	at := d.begin(terms[number].text)
	for d.slots[at] != number+1 {
		at = d.next(at)
	}
	d.slots[at] = gone
	d.count--
}
