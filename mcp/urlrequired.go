package mcp

import (
	"context"
	"sync"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// urlVisits are the pages that servers of 2025-11-25 sent the user to by
// failing a request with URLElicitationRequired, until they say that the user
// is done there. Its zero value works.
type urlVisits struct {
	mu   sync.Mutex
	done map[string]chan struct{} // by elicitation id; closed when the server says so
}

// maxURLVisits bounds the visits that are remembered.
const maxURLVisits = 1024

// visit returns the channel that is closed when the visit is over, and whether
// the user has been there before.
func (v *urlVisits) visit(id string) (done chan struct{}, again bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if done, again = v.done[id]; again {
		return done, true
	}
	if v.done == nil || len(v.done) >= maxURLVisits {
		v.done = map[string]chan struct{}{}
	}
	done = make(chan struct{})
	v.done[id] = done
	return done, false
}

// completed takes notifications/elicitation/complete. Ids that are unknown or
// over already are ignored.
func (v *urlVisits) completed(m *jsonrpc.Message) {
	id, _ := rawjson.String(rawjson.Get(m.Params(), "elicitationId"))
	v.mu.Lock()
	defer v.mu.Unlock()
	done, ok := v.done[id]
	if !ok {
		return
	}
	select {
	case <-done:
	default:
		close(done)
	}
}

// visitURLs has the user visit the pages that a failed request needs, and waits
// a moment for the server to say that they are done: it may never say so, and
// the next try tells as well. It returns false if the request is not to be
// tried again: the user declined, or the error is another one.
func (c *Client) visitURLs(ctx context.Context, a *agreed, e *jsonrpc.Error, round int) (bool, error) {
	if e == nil || a.revision.Rules.URLRequired == 0 || e.Code != a.revision.Rules.URLRequired || c.opts.ElicitURL == nil || round >= c.opts.MaxRounds {
		return false, nil
	}
	timer := time.NewTimer(time.Duration(round+1) * time.Second)
	defer timer.Stop()
	var waiting []chan struct{}
	for q := rawjson.Array(rawjson.Get(e.Data, "elicitations")); q.Next(); {
		id, ok := rawjson.String(rawjson.Get(q.Value(), "elicitationId"))
		if !ok {
			return false, nil
		}
		done, again := c.visits.visit(id)
		waiting = append(waiting, done)
		if again {
			continue
		}
		raw, err := c.answer(ctx, "elicitation/create", q.Value())
		if err != nil {
			return false, err
		}
		if action, _ := rawjson.String(rawjson.Get(raw, "action")); action != ActionAccept {
			return false, nil
		}
	}
	for _, done := range waiting {
		select {
		case <-done:
		case <-timer.C:
			return true, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return len(waiting) > 0, nil
}
