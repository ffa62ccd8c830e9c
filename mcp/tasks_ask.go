package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// ask puts questions to the client and waits for the answers, in either kind of
// task: they come by tasks/update, or as responses to requests that are sent
// while a tasks/result is open.
func (w *runningTask) ask(ctx context.Context, _ *Request, questions []Question) error {
	asked := w.pose(questions)
	w.save()
	for i, q := range asked {
		select {
		case <-q.answered:
			if q.err == nil {
				continue
			}
			w.withdraw(asked[i+1:])
			return q.err
		case <-ctx.Done():
			w.withdraw(asked)
			return context.Cause(ctx)
		case <-w.ctx.Done():
			w.withdraw(asked)
			return context.Cause(w.ctx)
		}
	}
	return nil
}

// pose opens questions under keys that this task has not used yet.
func (w *runningTask) pose(questions []Question) []*openQuestion {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := make([]*openQuestion, len(questions))
	for i, q := range questions {
		key, method, params := q.ask()
		base := or(key, "q")
		for n := len(w.used) + 1; key == "" || w.used[key]; n++ {
			key = fmt.Sprintf("%s%d", base, n)
		}
		w.used[key] = true
		asked[i] = &openQuestion{TaskQuestion: TaskQuestion{key, method, params}, question: q, answered: make(chan struct{})}
	}
	if w.final == nil {
		w.open = append(w.open, asked...)
		w.signalLocked()
	}
	return asked
}

// withdraw closes questions that nobody waits for any more. After it, no answer
// is written into them.
func (w *runningTask) withdraw(asked []*openQuestion) {
	w.mu.Lock()
	before := len(w.open)
	w.open = slices.DeleteFunc(w.open, func(q *openQuestion) bool { return slices.Contains(asked, q) })
	save := len(w.open) != before && w.final == nil
	w.mu.Unlock()
	if save {
		w.save()
	}
}

func (w *runningTask) signalLocked() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// answer takes the answers of a tasks/update.
func (w *runningTask) answer(ctx context.Context, responses []byte) error {
	w.mu.Lock()
	var taken []*openQuestion
	for c := rawjson.Object(responses); c.Next(); {
		at := slices.IndexFunc(w.open, func(q *openQuestion) bool { return q.Key == c.Key() })
		if at < 0 {
			continue
		}
		if err := w.open[at].question.take(c.Value()); err != nil {
			w.mu.Unlock()
			return invalidParams("inputResponses[%q]: %v", c.Key(), err)
		}
		taken = append(taken, w.open[at])
	}
	for _, q := range taken {
		w.closeLocked(q, nil)
	}
	w.mu.Unlock()
	if len(taken) > 0 {
		w.save()
	}
	return nil
}

func (w *runningTask) closeLocked(q *openQuestion, err error) {
	w.open = slices.DeleteFunc(w.open, func(o *openQuestion) bool { return o == q })
	q.err = err
	close(q.answered)
}

// result serves tasks/result of 2025-11-25: it waits until the task is final,
// and asks the task's questions meanwhile.
func (e *taskEngine) result(ctx context.Context, x *Exchange, record *TaskRecord) (*jsonrpc.Message, error) {
	for !record.Status.Final() {
		if w := e.find(record.ID); w != nil {
			if err := w.attend(ctx, x); err != nil {
				return nil, err
			}
		}
		var err error
		if record, err = e.store.Get(ctx, record.Owner, record.ID); err != nil {
			return nil, taskError(err)
		}
		if record.Status.Final() {
			break
		}
		if err := pause(ctx, e.opts.PollInterval); err != nil { // it runs elsewhere
			return nil, err
		}
	}
	return e.payload(x, record)
}

// pause waits for a while.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// attend lends the way back of a tasks/result request to the task until it is
// final.
func (w *runningTask) attend(ctx context.Context, x *Exchange) error {
	w.mu.Lock()
	w.streams = append(w.streams, x)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		at := slices.Index(w.streams, x)
		w.streams = slices.Delete(w.streams, at, at+1)
		w.mu.Unlock()
	}()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.over, cancel)()
	for {
		q, changed := w.next()
		if q != nil {
			if err := w.put(asking, x, q); err != nil && w.over.Err() == nil {
				return err
			}
			continue
		}
		select {
		case <-changed:
		case <-w.over.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// next claims a question that nobody is asking yet, if there is one.
func (w *runningTask) next() (*openQuestion, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.open {
		if !q.asked {
			q.asked = true
			return q, nil
		}
	}
	return nil, w.changed
}

// put asks a question as a request. An error means that the way is gone: the
// question is still to be asked.
func (w *runningTask) put(ctx context.Context, x *Exchange, q *openQuestion) error {
	raw, err := w.request(ctx, x, q)
	var gone *wayGoneError
	w.mu.Lock()
	switch open := slices.Contains(w.open, q); {
	case errors.As(err, &gone):
		q.asked = false
		w.signalLocked()
		w.mu.Unlock()
		return gone.err
	case open:
		if err == nil {
			err = q.question.take(raw)
		}
		w.closeLocked(q, err)
	}
	w.mu.Unlock()
	w.save()
	return nil
}

// A wayGoneError says that a question did not reach the client or its answer us.
type wayGoneError struct{ err error }

func (e *wayGoneError) Error() string { return e.err.Error() }

// request sends a question in the shape of the client's revision and returns
// the answer in that of the newest.
func (w *runningTask) request(ctx context.Context, x *Exchange, q *openQuestion) ([]byte, error) {
	latest, now := revision.Latest(), x.Session.Revision
	f := revision.Frame{Kind: revision.Request, Method: q.Method, Body: relate(q.Params, w.id)}
	if err := revision.Translate(&f, latest, now); err != nil {
		return nil, err
	}
	answer, err := x.Peer.Call(ctx, f.Method, f.Body)
	if err != nil {
		return nil, &wayGoneError{err}
	}
	if err := answer.Err(); err != nil {
		return nil, err
	}
	f = revision.Frame{Kind: revision.Result, Method: q.Method, Body: answer.Result()}
	if err := revision.Translate(&f, now, latest); err != nil {
		return nil, err
	}
	return f.Body, nil
}
