package rawjson

import "math"

const (
	reasonEnd     = "unexpected end"
	reasonDepth   = "nested too deeply"
	reasonMembers = "too many members"
)

// A frame is what the scanner keeps of an open container: for an array
// frameArray, for an object the index of its first name in scanner.names, with
// frameLarge added once its names have moved to scanner.seen.
type frame = uint8

const (
	frameArray frame = 0xff
	frameLarge frame = 0x80
)

// scanner checks one text. It lives on its caller's stack, arrays included: it
// must hold no pointer to itself, nor may anything of it be stored elsewhere.
type scanner struct {
	data    []byte
	depth   int // containers open
	limit   int // of depth
	members int // how many more are allowed

	top    frame // innermost container; meaningful when depth > 0
	outer  [DefaultDepth]frame
	deeper []frame // containers beyond len(outer)

	used  int // names in use
	quote int // index of the quote that closes the name last read
	names [maxNames]name
	seen  nameSet

	at     int
	reason string
}

func (s *scanner) init(data []byte, l Limits) {
	if uint64(len(data)) > math.MaxUint32 { // names keep 32-bit offsets
		s.at, s.reason = 0, "text too long"
		return
	}
	s.data, s.limit, s.members = data, l.Depth, l.Members
	if s.limit <= 0 {
		s.limit = DefaultDepth
	}
	if s.members <= 0 {
		s.members = DefaultMembers
	}
}

// at returns data[i], or 0, which occurs in no valid text, beyond the end.
func at(data []byte, i int) byte {
	if uint(i) < uint(len(data)) {
		return data[i]
	}
	return 0
}

// skipSpace returns the index of the first byte at or after i that is no JSON
// white space.
func skipSpace(data []byte, i int) int {
	if uint(i) < uint(len(data)) && data[i] > ' ' {
		return i
	}
	return skipSpaces(data, i)
}

func skipSpaces(data []byte, i int) int {
	for uint(i) < uint(len(data)) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t'
}

// fail records the first error and returns -1, the "no index" of all methods.
func (s *scanner) fail(i int, reason string) int {
	if s.reason == "" {
		if i >= len(s.data) {
			i, reason = len(s.data), reasonEnd
		}
		s.at, s.reason = i, reason
	}
	return -1
}

func (s *scanner) err() error {
	if s.reason == "" {
		return nil
	}
	return &Error{Offset: s.at, Reason: s.reason}
}

// finish demands that nothing but space follows at i.
func (s *scanner) finish(i int) {
	if i = skipSpace(s.data, i); i < len(s.data) {
		s.fail(i, "data after the value")
	}
}

// value checks the value at or after i and returns the index after it, or -1.
// It is iterative: the depth of a text costs no stack.
func (s *scanner) value(i int) int {
	data, floor, inObject := s.data, s.depth, false
	for {
		i = skipSpace(data, i)
		if inObject {
			if i = s.name(i); i < 0 {
				return -1
			}
			i = skipSpace(data, i)
		}
		switch c := at(data, i); c {
		case '"':
			i, _ = s.str(i + 1)
		case '{', '[':
			if !s.push(i, c) {
				return -1
			}
			inObject = c == '{'
			i = skipSpace(data, i+1)
			if at(data, i) != c+2 { // '}' and ']' are two after their openers
				continue
			}
			s.pop()
			i++
		default:
			i = s.scalar(i, c)
		}
		if i < 0 {
			return -1
		}
		for {
			if s.depth == floor {
				return i
			}
			i = skipSpace(data, i)
			c, closer := at(data, i), byte('}')
			if s.top == frameArray {
				closer = ']'
			}
			i++
			if c == ',' {
				break
			}
			if c != closer {
				return s.fail(i-1, "expected a comma or the end of the container")
			}
			s.pop()
		}
		inObject = s.top != frameArray
	}
}

// scalar checks the number or literal at i, whose first byte is c.
func (s *scanner) scalar(i int, c byte) int {
	word := ""
	switch {
	case c-'0' <= 9 || c == '-':
		return s.number(i)
	case c == 't':
		word = "true"
	case c == 'f':
		word = "false"
	case c == 'n':
		word = "null"
	default:
		return s.fail(i, "expected a value")
	}
	if len(s.data)-i < len(word) || string(s.data[i:i+len(word)]) != word {
		return s.fail(i, "expected a value")
	}
	return i + len(word)
}

// name checks the member name at i and the colon after it, and returns the
// index after the colon.
func (s *scanner) name(i int) int {
	if at(s.data, i) != '"' {
		return s.fail(i, "expected a member name")
	}
	end, escaped := s.str(i + 1)
	if end < 0 {
		return -1
	}
	s.quote = end - 1
	if s.members--; s.members < 0 {
		return s.fail(i, reasonMembers)
	}
	if !s.claim(i+1, end-1, escaped) {
		return s.fail(i, "duplicate member name")
	}
	end = skipSpace(s.data, end)
	if at(s.data, end) != ':' {
		return s.fail(end, "expected a colon")
	}
	return end + 1
}

// push opens the container whose opener c is at i.
func (s *scanner) push(i int, c byte) bool {
	if s.depth >= s.limit {
		s.fail(i, reasonDepth)
		return false
	}
	if s.depth < len(s.outer) {
		s.outer[s.depth] = s.top
	} else {
		s.deeper = append(s.deeper, s.top)
	}
	s.depth++
	s.top = frameArray
	if c == '{' {
		s.top = frame(s.used)
	}
	return true
}

// pop closes the innermost container and forgets its names.
func (s *scanner) pop() {
	if s.top != frameArray {
		s.used = int(s.top &^ frameLarge)
		if s.top&frameLarge != 0 {
			s.seen.leave()
		}
	}
	s.depth--
	if s.depth < len(s.outer) {
		s.top = s.outer[s.depth]
		return
	}
	last := len(s.deeper) - 1
	s.top = s.deeper[last]
	s.deeper = s.deeper[:last]
}

// enter opens the outermost container if it is of the kind of opener and
// returns the index of the first byte in it that is no space.
func (s *scanner) enter(opener byte) (int, bool) {
	i := skipSpace(s.data, 0)
	if at(s.data, i) != opener || !s.push(i, opener) {
		return i, false
	}
	return skipSpace(s.data, i+1), true
}

// other checks the whole text from i on, which is not of the kind wanted, and
// returns what is wrong with it, or else wrongKind.
func (s *scanner) other(i int, wrongKind error) error {
	if s.reason == "" {
		if i = s.value(i); i >= 0 {
			s.finish(i)
		}
	}
	if err := s.err(); err != nil {
		return err
	}
	return wrongKind
}

// next looks behind a value that ended at i in the outermost container. It
// returns the index after the comma and true, or that of closer and false; the
// index is -1 when neither is there.
func (s *scanner) next(i int, closer byte) (int, bool) {
	i = skipSpace(s.data, i)
	switch at(s.data, i) {
	case ',':
		return i + 1, true
	case closer:
		return i, false
	}
	return s.fail(i, "expected a comma or the end of the container"), false
}
