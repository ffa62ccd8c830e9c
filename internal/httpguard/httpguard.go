// Package httpguard keeps web pages away from HTTP endpoints that are not meant
// for them: an allowlist of Host names against DNS rebinding, and one of
// origins against cross-site requests. Both are needed: after rebinding a
// page's Host and Origin agree.
package httpguard

import (
	"fmt"
	"net/http"
	"strings"
)

// A Guard says for which Host and Origin headers requests are let in. The zero
// value, and nil, let in loopback names only: localhost, 127.0.0.1 and [::1],
// with any port. A Guard must not change while it is in use.
type Guard struct {
	// Hosts are the names under which the endpoint may be addressed: "name" for
	// any port, or "name:port"; an IPv6 address stands in brackets. Empty means
	// the loopback names.
	Hosts []string

	// Origins are the origins whose pages may send requests, as browsers write
	// them: "https://app.example" or "https://app.example:8443". Empty means
	// http and https origins whose host is one of Hosts.
	Origins []string

	// AllowAnyHost and AllowAnyOrigin switch the checks off. Then something in
	// front has to do them; "null" is an origin like any other.
	AllowAnyHost   bool
	AllowAnyOrigin bool
}

var loopback = []string{"localhost", "127.0.0.1", "[::1]"}

// An Error says why a request was refused. The answer to it is 403.
type Error struct {
	Header string // "Host" or "Origin"
	Value  string // as the client sent it: quote it in logs
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %q is not allowed", strings.ToLower(e.Header), e.Value)
}

// Check returns nil or an *Error. It reads headers only, so that it can come
// before the body and before authentication. A request without Origin passes:
// it does not come from a page.
func (g *Guard) Check(r *http.Request) error {
	if g == nil {
		g = &Guard{}
	}
	if !g.AllowAnyHost && !matchHost(g.hosts(), r.Host) {
		return &Error{Header: "Host", Value: r.Host}
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 || g.AllowAnyOrigin {
		return nil
	}
	if len(origins) > 1 || !g.origin(origins[0]) {
		return &Error{Header: "Origin", Value: strings.Join(origins, ", ")}
	}
	return nil
}

// Handler returns a handler that answers 403 to what Check refuses and passes
// on the rest.
func (g *Guard) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.Check(r); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Guard) hosts() []string {
	if len(g.Hosts) == 0 {
		return loopback
	}
	return g.Hosts
}

func (g *Guard) origin(origin string) bool {
	scheme, host, ok := strings.Cut(origin, "://")
	if !ok {
		return false
	}
	if len(g.Origins) == 0 {
		web := strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
		return web && matchHost(g.hosts(), host)
	}
	for _, allowed := range g.Origins {
		s, h, ok := strings.Cut(allowed, "://")
		if ok && strings.EqualFold(s, scheme) && strings.EqualFold(trimPort(s, h), trimPort(scheme, host)) {
			return true
		}
	}
	return false
}

// trimPort removes the port that the scheme implies.
func trimPort(scheme, host string) string {
	switch strings.ToLower(scheme) {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

// matchHost says whether host is one of allowed, of which those without a port
// stand for every port. Whatever is no plain host[:port] matches nothing.
func matchHost(allowed []string, host string) bool {
	name, port, ok := split(host)
	if !ok {
		return false
	}
	for _, a := range allowed {
		n, p, ok := split(a)
		if ok && strings.EqualFold(n, name) && (p == "" || p == port) {
			return true
		}
	}
	return false
}

// split separates the port, and refuses what could be read in two ways.
func split(host string) (name, port string, ok bool) {
	end := strings.LastIndexByte(host, ']') + 1
	name = host
	if i := strings.IndexByte(host[end:], ':'); i >= 0 {
		name, port = host[:end+i], host[end+i+1:]
		if port == "" || strings.Trim(port, "0123456789") != "" {
			return "", "", false
		}
	}
	if end > 0 && (name[0] != '[' || len(name) != end) {
		return "", "", false
	}
	return name, port, name != "" && !strings.ContainsAny(name, "/\\@?# ,")
}
