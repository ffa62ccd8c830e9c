package streamable

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"mcpv/internal/eventstream"
	"mcpv/jsonrpc"
	"mcpv/mcp"
)

// streamPatience is how long the first request of a session waits for the
// stream to stand. Servers that have no stream yet drop what they want to send
// on it, a question in the middle of that request, say; servers that do not
// send the headers before the first event are not waited for longer.
const streamPatience = 300 * time.Millisecond

// startStream opens the stream for what a legacy server sends on its own, unless
// there is one or none is wanted, and waits a moment until it stands.
func (l *clientLink) startStream(ctx context.Context, s *clientState) {
	if s.revision == nil || !s.revision.Rules.GetStream && !s.ahead() {
		return
	}
	stands := make(chan struct{})
	if !l.runStream(s, stands) {
		return
	}
	timer := time.NewTimer(streamPatience)
	defer timer.Stop()
	select {
	case <-stands:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// runStream starts the goroutine of the stream, which closes stands once it has
// been answered for the first time.
func (l *clientLink) runStream(s *clientState, stands chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.noStream || l.stopStream != nil {
		return false
	}
	ctx, cancel := context.WithCancel(l.context)
	l.stopStream = cancel
	l.running.Go(func() {
		defer cancel()
		l.listen(ctx, s, stands)
	})
	return true
}

// listen keeps the standalone stream open until ctx ends or the server says that
// it has none. A session that is gone is for the next call to find.
func (l *clientLink) listen(ctx context.Context, s *clientState, stands chan struct{}) {
	var at clientCursor
	for {
		body, err := l.openEvents(ctx, s, at.last)
		if stands != nil {
			close(stands)
			stands = nil
		}
		switch {
		case err == nil:
			err = l.deliver(body, &at)
			_ = body.Close() // nothing was written
		case ctx.Err() == nil && !clientTransient(err):
			l.withoutStream(err)
			return
		}
		at.failures++
		if !at.pause(ctx) {
			return
		}
		l.log.Debug("stream is opened again", "error", err)
	}
}

// withoutStream notes why there is no stream. 405 holds for the link, whatever
// sessions come after this one (2025-03-26 basic/transports: listening).
func (l *clientLink) withoutStream(err error) {
	var e *mcp.HTTPError
	if errors.As(err, &e) && e.Status == http.StatusMethodNotAllowed {
		l.mu.Lock()
		l.noStream = true
		l.mu.Unlock()
		return
	}
	l.log.Info("no stream for messages of the server", "error", err)
}

// deliver passes on what comes on one connection of the standalone stream. The
// error says why it ended.
func (l *clientLink) deliver(body io.Reader, at *clientCursor) error {
	defer at.lasted(time.Now())
	r := eventstream.NewReader(body, l.maxEvent)
	for {
		e, err := r.Next()
		if limit := (*eventstream.LimitError)(nil); errors.As(err, &limit) {
			l.log.Warn("event is dropped", "error", err)
			continue
		}
		if err != nil {
			return err
		}
		at.note(e)
		if len(e.Data) == 0 || e.Name != "" && e.Name != "message" {
			continue
		}
		frames := [][]byte{e.Data}
		if jsonrpc.IsBatch(e.Data) {
			frames, err = jsonrpc.SplitBatch(e.Data)
			if err != nil {
				l.log.Warn("frame is no message", "error", err)
			}
		}
		for _, f := range frames {
			l.unsolicited(f)
		}
	}
}

func (l *clientLink) unsolicited(frame []byte) {
	m, err := jsonrpc.Parse(frame)
	switch {
	case err != nil:
		l.log.Warn("frame is no message", "error", err)
	case m.Kind() != jsonrpc.Response:
		l.in.Receive(l, m, jsonrpc.ID{})
	case !l.resolve(m):
		l.log.Warn("response to no request", "id", m.ID().String())
	}
}
