package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcpv/internal/mcpheader"
	"mcpv/internal/rawjson"
)

// A cache holds results for as long as the server's hints allow. It belongs to
// one client and so to one caller: private results may be in it.
type cache struct {
	mu      sync.Mutex
	entries map[string]cached
	drops   int // counts what was dropped: a result asked for before may be stale
}

type cached struct {
	result  []byte
	expires time.Time
}

// maxCached bounds the entries; when full, the cache starts anew.
const maxCached = 4096

// cached answers from the cache or asks. What a server said in answer to inputs
// is never kept, nor what was overtaken by the news that it has changed.
func (c *Client) cached(ctx context.Context, k *call) ([]byte, error) {
	key := k.method + "\x00" + string(k.params)
	if !c.opts.NoCache {
		if raw := c.cache.get(key); raw != nil {
			k.read(raw)
			return raw, nil
		}
	}
	drops := c.cache.dropped()
	raw, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	if k.ttl > 0 && !c.opts.NoCache && k.rounds == 0 {
		c.cache.put(key, raw, time.Duration(min(k.ttl, maxTTL))*time.Millisecond, drops)
	}
	return raw, nil
}

// maxTTL bounds what a server may have kept: a day, in milliseconds.
const maxTTL = 24 * 60 * 60 * 1000

func (s *cache) dropped() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drops
}

func (s *cache) get(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[key]
	if !ok || time.Now().After(e.expires) {
		delete(s.entries, key)
		return nil
	}
	return e.result
}

func (s *cache) put(key string, raw []byte, ttl time.Duration, drops int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drops != drops {
		return
	}
	if s.entries == nil || len(s.entries) >= maxCached {
		s.entries = map[string]cached{}
	}
	s.entries[key] = cached{raw, time.Now().Add(ttl)}
}

// drop forgets all pages of a method.
func (s *cache) drop(method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops++
	for key := range s.entries {
		if strings.HasPrefix(key, method+"\x00") {
			delete(s.entries, key)
		}
	}
}

func (s *cache) dropResource(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops++
	delete(s.entries, "resources/read\x00"+string(rawjson.Set(emptyObject, quote(uri), "uri")))
}

func (s *cache) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops++
	s.entries = nil
}

// A mirror knows which arguments of which tools go into headers as well.
type mirror struct {
	mu       sync.Mutex
	bindings map[string][]mcpheader.Binding
}

// mirrors reports whether arguments have to be mirrored on this connection.
func (c *Client) mirrors() bool {
	a := c.current()
	return overHTTP(a.link) && a.revision.Rules.StandardHeaders
}

// learn notes the annotations of a tool; an error means that the tool must not
// be used.
func (m *mirror) learn(t *Tool) error {
	b, err := mcpheader.Bindings(t.InputSchema)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bindings == nil {
		m.bindings = map[string][]mcpheader.Binding{}
	}
	if len(b) == 0 {
		delete(m.bindings, t.Name)
	} else {
		m.bindings[t.Name] = b
	}
	return nil
}

// headers returns the headers that mirror the arguments, nil when there are
// none.
func (m *mirror) headers(c *Client, tool string, args []byte) (map[string]string, error) {
	if !c.mirrors() {
		return nil, nil
	}
	m.mu.Lock()
	bindings := m.bindings[tool]
	m.mu.Unlock()
	var h map[string]string
	for _, b := range bindings {
		arg := rawjson.Get(args, b.Path...)
		if arg == nil {
			continue
		}
		value, ok, err := mcpheader.Value(arg)
		if err != nil {
			return nil, fmt.Errorf("argument %s of %s: %w", strings.Join(b.Path, "."), tool, err)
		}
		if !ok {
			continue
		}
		if h == nil {
			h = map[string]string{}
		}
		h[mcpheader.Param(b.Header)] = value
	}
	return h, nil
}
