package streamable

import (
	"errors"
	"sync"
)

// An EventStore keeps what was sent on the streams of legacy sessions, so that a
// client that lost its connection can have the rest. Live clients are served
// without it: a store that is slow or fails costs resumption, not delivery, but
// Append is called on the way of every event and should not block.
//
// Its methods are called concurrently, though those for one stream one at a time.
type EventStore interface {
	// Append keeps an event. The events of a stream are numbered from 1 without
	// gaps. The store may keep frame but not change it.
	Append(session, stream string, seq int64, frame []byte) error

	// After returns the events of a stream whose number is greater than seq, in
	// order, and the number of the first of them. That it is not seq+1 tells
	// that those between were dropped; when there are no events, it is one more
	// than the stream's last. ErrNoStream says that the store does not know, or
	// no longer, the stream.
	After(session, stream string, seq int64) (frames [][]byte, first int64, err error)

	// Forget drops all streams of a session.
	Forget(session string)
}

// ErrNoStream is returned by EventStore.After for streams that are not there.
var ErrNoStream = errors.New("no such stream")

// NewMemoryStore returns a store that keeps perSession bytes for each session
// and total bytes for all, the newest. 0 means 10 MiB and 256 MiB. When all
// together have too much, the session that sends gives way.
func NewMemoryStore(perSession, total int) EventStore {
	if perSession <= 0 {
		perSession = 10 << 20
	}
	if total <= 0 {
		total = 256 << 20
	}
	return &memoryStore{perSession: perSession, total: total, sessions: map[string]*memorySession{}}
}

type memoryStore struct {
	perSession, total int

	mu       sync.Mutex // guards the following
	size     int
	sessions map[string]*memorySession
}

type memorySession struct {
	size    int
	streams map[string]*memoryStream
	order   []*memoryStream // one entry for each event, oldest first
	known   []string        // streams, oldest first
}

type memoryStream struct {
	first  int64 // number of frames[0]
	frames [][]byte
}

const (
	// maxStreams bounds the streams that are remembered for a session, those
	// included that have no events left.
	maxStreams = 1024
	// eventCost is what an event takes besides its frame.
	eventCost = 64
)

func (m *memoryStore) Append(session, stream string, seq int64, frame []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		s = &memorySession{streams: map[string]*memoryStream{}}
		m.sessions[session] = s
	}
	st := s.streams[stream]
	if st == nil {
		st = &memoryStream{first: seq}
		s.streams[stream] = st
		s.known = append(s.known, stream)
	}
	st.frames = append(st.frames, frame)
	s.order = append(s.order, st)
	m.grow(s, len(frame)+eventCost)
	for len(s.order) > 0 && (s.size > m.perSession || m.size > m.total) {
		m.dropOldest(s)
	}
	for len(s.known) > maxStreams {
		m.dropStream(s)
	}
	return nil
}

func (m *memoryStore) grow(s *memorySession, by int) {
	s.size += by
	m.size += by
}

func (m *memoryStore) dropOldest(s *memorySession) {
	st := s.order[0]
	s.order[0] = nil
	s.order = s.order[1:]
	if len(st.frames) == 0 {
		return // of a stream that was dropped as a whole
	}
	m.grow(s, -len(st.frames[0])-eventCost)
	st.frames[0] = nil
	st.frames = st.frames[1:]
	st.first++
}

// dropStream forgets the oldest stream. Of its entries in order those that are
// in front go with it; the others follow when what is before them is dropped.
func (m *memoryStore) dropStream(s *memorySession) {
	name := s.known[0]
	s.known = s.known[1:]
	st := s.streams[name]
	delete(s.streams, name)
	for _, f := range st.frames {
		m.grow(s, -len(f)-eventCost)
	}
	st.frames = nil
	for len(s.order) > 0 && len(s.order[0].frames) == 0 {
		m.dropOldest(s)
	}
}

func (m *memoryStore) After(session, stream string, seq int64) (frames [][]byte, first int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var st *memoryStream
	if s := m.sessions[session]; s != nil {
		st = s.streams[stream]
	}
	if st == nil {
		return nil, 0, ErrNoStream
	}
	next := st.first + int64(len(st.frames))
	first = min(max(seq+1, st.first), next)
	return append(frames, st.frames[first-st.first:]...), first, nil
}

func (m *memoryStore) Forget(session string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sessions[session]; s != nil {
		m.size -= s.size
		delete(m.sessions, session)
	}
}
