package mcp

import (
	"context"
	"log/slog"
	"slices"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// A LogLevel is a syslog severity, least severe first.
type LogLevel int

// The levels of the specification.
const (
	LogDebug LogLevel = iota
	LogInfo
	LogNotice
	LogWarning
	LogError
	LogCritical
	LogAlert
	LogEmergency
)

var logLevels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// String returns the level as on the wire.
func (l LogLevel) String() string {
	if l < 0 || int(l) >= len(logLevels) {
		return "info"
	}
	return logLevels[l]
}

// ParseLogLevel reads a level as on the wire.
func ParseLogLevel(s string) (LogLevel, bool) {
	for i, name := range logLevels {
		if s == name {
			return LogLevel(i), true
		}
	}
	return 0, false
}

func parseLogLevel(raw []byte) (LogLevel, bool) {
	s, ok := rawjson.String(raw)
	if !ok {
		return 0, false
	}
	return ParseLogLevel(s)
}

// setLevel remembers the level for the session. The handler is asked first, so
// that one without logging can refuse and a gateway can pass it on; that it
// does not know the method is fine.
func (e *Endpoint) setLevel(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	l, ok := parseLogLevel(rawjson.Get(x.Request.Params(), "level"))
	if !ok {
		return nil, invalidParams("level must be one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	answer, err := e.handler.Handle(ctx, x)
	if err != nil {
		return nil, err
	}
	if answer.Err() == nil {
		x.Session.setLogLevel(l)
	}
	return answer, nil
}

// A logHandler sends records to the client of a request.
type logHandler struct {
	request *Request
	name    string
	attrs   []slog.Attr
	group   string
}

func slogLevel(l slog.Level) LogLevel {
	switch {
	case l < slog.LevelInfo:
		return LogDebug
	case l < slog.LevelWarn:
		return LogInfo
	case l < slog.LevelError:
		return LogWarning
	}
	return LogError
}

func (h *logHandler) Enabled(_ context.Context, l slog.Level) bool {
	least, wanted := h.request.Exchange.Session.LogLevel()
	return wanted && slogLevel(l) >= least
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	data := map[string]any{"message": r.Message}
	for _, a := range h.attrs {
		data[a.Key] = a.Value.Resolve().Any()
	}
	r.Attrs(func(a slog.Attr) bool {
		data[h.group+a.Key] = a.Value.Resolve().Any()
		return true
	})
	h.request.Log(ctx, slogLevel(r.Level), h.name, data)
	return nil
}

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		c.attrs = append(c.attrs, slog.Attr{Key: h.group + a.Key, Value: a.Value})
	}
	return &c
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.group += name + "."
	return &c
}
