package rawjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// An object's names are compared one by one while there are at most
// linearNames of them and the names of all open objects fit in maxNames; after
// that they are hashed.
const (
	linearNames = 24
	maxNames    = 64
)

// name is a member name of an open object: data[start:end] without quotes, and
// a digest that differs only for names that differ.
type name struct {
	digest     uint64
	start, end uint32
}

// claim adds the name data[start:end] to the innermost container, an object.
// It reports false if the object has it already.
func (s *scanner) claim(start, end int, escaped bool) bool {
	raw := s.data[start:end]
	if s.top&frameLarge != 0 {
		return s.seen.add(s.data, uint32(start), uint32(end))
	}
	digest := digestOf(raw, escaped)
	first := int(s.top)
	for k := first; k < s.used && k < maxNames; k++ {
		n := &s.names[k]
		if n.digest == digest && sameName(s.data[n.start:n.end], raw) {
			return false
		}
	}
	if s.used < maxNames && s.used-first < linearNames {
		s.names[s.used] = name{digest, uint32(start), uint32(end)}
		s.used++
		return true
	}
	s.seen.enter()
	for _, n := range s.names[first:s.used] {
		s.seen.add(s.data, n.start, n.end)
	}
	s.used = first
	s.top |= frameLarge
	return s.seen.add(s.data, uint32(start), uint32(end))
}

// unescapedName returns the name raw, aliasing it when it has no escapes.
func unescapedName(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return appendUnescaped(nil, raw)
}

// digestOf reads at most 16 bytes of a name; equal names have equal digests
// however they are escaped.
func digestOf(raw []byte, escaped bool) uint64 {
	if escaped {
		var buf [64]byte
		raw = appendUnescaped(buf[:0], raw)
	}
	n := len(raw)
	switch {
	case n >= 8:
		head := binary.LittleEndian.Uint64(raw)
		tail := binary.LittleEndian.Uint64(raw[n-8:])
		return head ^ (tail+uint64(n))*0x9e3779b97f4a7c15
	case n >= 4:
		head := binary.LittleEndian.Uint32(raw)
		tail := binary.LittleEndian.Uint32(raw[n-4:])
		return uint64(head) | uint64(tail)<<32
	case n > 0:
		return uint64(raw[0]) | uint64(raw[n/2])<<8 | uint64(raw[n-1])<<16 | uint64(n)<<24
	}
	return 0
}

// sameName compares two names as they stand in the text.
func sameName(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	var x, y [64]byte
	return bytes.Equal(appendUnescaped(x[:0], a), appendUnescaped(y[:0], b))
}

// nameSet holds the names of all large objects of a text, open and closed, in
// one open-addressed table. Its hash is seeded, so nobody can prepare names that
// collide. The zero nameSet is ready to use.
type nameSet struct {
	seed  maphash.Seed
	slots []slot
	count int
	last  uint32   // id of the youngest object
	open  []uint32 // ids of the open objects, innermost last
}

type slot struct {
	hash, object uint32 // object 0: empty
	start, end   uint32
}

// enter starts an object; it is the innermost one until leave.
func (t *nameSet) enter() {
	if t.slots == nil {
		t.seed = maphash.MakeSeed()
		t.slots = make([]slot, 8*linearNames)
	}
	t.last++
	t.open = append(t.open, t.last)
}

func (t *nameSet) leave() { t.open = t.open[:len(t.open)-1] }

// add reports whether the name data[start:end] is new in the innermost object.
func (t *nameSet) add(data []byte, start, end uint32) bool {
	if 2*t.count >= len(t.slots) {
		t.grow()
	}
	raw, object := data[start:end], t.open[len(t.open)-1]
	var buf [64]byte
	text := raw
	if bytes.IndexByte(raw, '\\') >= 0 {
		text = appendUnescaped(buf[:0], raw)
	}
	hash := uint32(maphash.Bytes(t.seed, text)) ^ object*0x9e3779b9
	for i := t.index(hash); ; i = t.after(i) {
		have := &t.slots[i]
		if have.object == 0 {
			*have = slot{hash, object, start, end}
			t.count++
			return true
		}
		if have.hash == hash && have.object == object && sameName(data[have.start:have.end], raw) {
			return false
		}
	}
}

func (t *nameSet) index(hash uint32) int {
	return int(uint64(hash) * uint64(len(t.slots)) >> 32)
}

func (t *nameSet) after(i int) int {
	if i++; i < len(t.slots) {
		return i
	}
	return 0
}

func (t *nameSet) grow() {
	old := t.slots
	t.slots = make([]slot, 4*len(old))
	for _, o := range old {
		if o.object == 0 {
			continue
		}
		i := t.index(o.hash)
		for t.slots[i].object != 0 {
			i = t.after(i)
		}
		t.slots[i] = o
	}
}
