package mcp

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A TaskStatus is where a task stands.
type TaskStatus string

// The states of a task. The last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed"
	TaskFailed        TaskStatus = "failed"
	TaskCancelled     TaskStatus = "cancelled"
)

// Final reports whether a task in this state changes no more.
func (s TaskStatus) Final() bool {
	return s == TaskCompleted || s == TaskFailed || s == TaskCancelled
}

// A TaskRecord is a task as a server keeps it, in the terms of the tasks
// extension: a tool that ran and failed has completed. The client of another
// revision sees it in the words of that.
type TaskRecord struct {
	ID            string // unguessable
	Owner         string // who may see it; "" is nobody in particular
	Tool          string
	Status        TaskStatus
	StatusMessage string
	Created       time.Time
	Updated       time.Time
	TTL           time.Duration // from Created; 0 means without end
	PollInterval  time.Duration

	Questions []TaskQuestion // open ones, while input is required
	Result    JSON           // of the tool, when completed
	Error     JSON           // a JSON-RPC error object, when failed
}

// A TaskQuestion is something a task waits to be told.
type TaskQuestion struct {
	Key    string // never used twice in one task
	Method string
	Params JSON // nil when there are none
}

// expires returns when the record may be forgotten, and false for never.
func (r *TaskRecord) expires() (time.Time, bool) { return r.Created.Add(r.TTL), r.TTL > 0 }

func (r *TaskRecord) clone() *TaskRecord {
	c := *r
	c.Questions = slices.Clone(r.Questions)
	return &c
}

var (
	// ErrTaskUnknown says that there is no such task, or that it is not the
	// caller's, which is the same to the caller.
	ErrTaskUnknown = errors.New("unknown task")

	// ErrTooManyTasks says that a bound of the server has been reached.
	ErrTooManyTasks = errors.New("too many tasks")
)

// A TaskStore keeps tasks for as long as they live. Its methods are called
// concurrently. A task that has expired or that belongs to another owner is
// unknown. Records handed over in either direction are not shared.
//
// The store makes tasks durable, not their execution: a task runs in the server
// that created it, and only there can its questions be answered. Replicas that
// share a store can all tell how a task stands and cancel it; requests that
// answer questions have to be routed by task id.
type TaskStore interface {
	// Create keeps a new task. When it returns, Get finds the task.
	Create(ctx context.Context, r *TaskRecord) error

	// Get returns a task, or ErrTaskUnknown.
	Get(ctx context.Context, owner, id string) (*TaskRecord, error)

	// Update changes a task in one atomic step and returns what it is then.
	// change may run more than once, each time on the current record. When it
	// fails nothing is kept, and its error is returned.
	Update(ctx context.Context, owner, id string, change func(r *TaskRecord) error) (*TaskRecord, error)

	// List returns up to limit tasks of the owner, oldest first. after is ""
	// or the id of the last task of the page before, which may be gone by now
	// if the store can still tell its place, else ErrTaskUnknown. more reports
	// whether others follow.
	List(ctx context.Context, owner, after string, limit int) (page []*TaskRecord, more bool, err error)

	// Delete forgets a task.
	Delete(ctx context.Context, owner, id string) error
}

// NewMemoryTaskStore returns a store that forgets when the process ends. It
// holds at most max tasks in all and maxPerOwner of one owner, finished ones
// included until they expire; 0 means 10000 and 1000.
func NewMemoryTaskStore(max, maxPerOwner int) TaskStore {
	if max <= 0 {
		max = 10_000
	}
	if maxPerOwner <= 0 {
		maxPerOwner = 1_000
	}
	return &memoryTasks{max: max, maxPerOwner: maxPerOwner, byID: map[string]*memoryTask{}, owned: map[string][]*memoryTask{}}
}

type memoryTasks struct {
	max, maxPerOwner int

	mu     sync.Mutex // guards the following
	byID   map[string]*memoryTask
	owned  map[string][]*memoryTask // oldest first
	expiry expiryHeap               // those that expire, soonest first
	seq    int
}

type memoryTask struct {
	*TaskRecord
	seq   int
	index int // in the heap; -1 when not there
}

func (m *memoryTasks) Create(_ context.Context, r *TaskRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	switch {
	case m.byID[r.ID] != nil:
		return fmt.Errorf("task id %q is taken", r.ID)
	case len(m.byID) >= m.max, len(m.owned[r.Owner]) >= m.maxPerOwner:
		return ErrTooManyTasks
	}
	m.seq++
	t := &memoryTask{TaskRecord: r.clone(), seq: m.seq, index: -1}
	m.byID[t.ID] = t
	m.owned[t.Owner] = append(m.owned[t.Owner], t)
	m.schedule(t)
	return nil
}

func (m *memoryTasks) Get(_ context.Context, owner, id string) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, id)
	if err != nil {
		return nil, err
	}
	return t.clone(), nil
}

func (m *memoryTasks) Update(_ context.Context, owner, id string, change func(*TaskRecord) error) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, id)
	if err != nil {
		return nil, err
	}
	next := t.clone()
	if err := change(next); err != nil {
		return nil, err
	}
	next.ID, next.Owner = t.ID, t.Owner
	t.TaskRecord = next
	m.schedule(t)
	return next.clone(), nil
}

func (m *memoryTasks) List(_ context.Context, owner, after string, limit int) ([]*TaskRecord, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	mine := m.owned[owner]
	if after != "" {
		last, err := m.find(owner, after)
		if err != nil {
			return nil, false, err
		}
		at, _ := slices.BinarySearchFunc(mine, last.seq+1, func(t *memoryTask, seq int) int { return cmp.Compare(t.seq, seq) })
		mine = mine[at:]
	}
	more := len(mine) > limit
	if more {
		mine = mine[:limit]
	}
	page := make([]*TaskRecord, len(mine))
	for i, t := range mine {
		page[i] = t.clone()
	}
	return page, more, nil
}

func (m *memoryTasks) Delete(_ context.Context, owner, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, err := m.find(owner, id)
	if err == nil {
		m.forget(t)
	}
	return err
}

func (m *memoryTasks) find(owner, id string) (*memoryTask, error) {
	m.sweep()
	t := m.byID[id]
	if t == nil || t.Owner != owner {
		return nil, ErrTaskUnknown
	}
	return t, nil
}

// sweep forgets what has expired. Every operation does it, so what an idle
// store holds is bounded by what it held when it was last used.
func (m *memoryTasks) sweep() {
	now := time.Now()
	for len(m.expiry) > 0 {
		if at, _ := m.expiry[0].expires(); at.After(now) {
			return
		}
		m.forget(m.expiry[0])
	}
}

func (m *memoryTasks) forget(t *memoryTask) {
	delete(m.byID, t.ID)
	if t.index >= 0 {
		heap.Remove(&m.expiry, t.index)
	}
	mine := m.owned[t.Owner]
	if at := slices.Index(mine, t); at >= 0 {
		mine = slices.Delete(mine, at, at+1)
	}
	if len(mine) == 0 {
		delete(m.owned, t.Owner)
	} else {
		m.owned[t.Owner] = mine
	}
}

// schedule puts the task where it belongs in the heap: its time to live may
// have changed.
func (m *memoryTasks) schedule(t *memoryTask) {
	_, ends := t.expires()
	switch {
	case ends && t.index >= 0:
		heap.Fix(&m.expiry, t.index)
	case ends:
		heap.Push(&m.expiry, t)
	case t.index >= 0:
		heap.Remove(&m.expiry, t.index)
	}
}

type expiryHeap []*memoryTask

func (h expiryHeap) Len() int { return len(h) }
func (h expiryHeap) Less(i, j int) bool {
	a, _ := h[i].expires()
	b, _ := h[j].expires()
	return a.Before(b)
}
func (h expiryHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop are called by package heap only.
func (h *expiryHeap) Push(x any) {
	t := x.(*memoryTask)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *expiryHeap) Pop() any {
	last := (*h)[len(*h)-1]
	last.index = -1
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return last
}

// taskOwner is who a task belongs to: the principal, else the session where
// there is one. Principals' keys have two NULs, the other names have none.
func taskOwner(s *Session) string {
	if s.Principal == nil && s.ID != "" {
		return "session " + strings.ReplaceAll(s.ID, "\x00", "")
	}
	return s.Principal.Key()
}
