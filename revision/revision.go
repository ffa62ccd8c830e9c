// Package revision knows what changed between the revisions of the Model Context Protocol.
//
// Revisions differ in three ways and two of them live here. Facts (may messages be batched, are there sessions, which
// methods exist) are [Rules] and the method table of a [Revision]. Shapes of frames (resultType, ttlMs, error codes,
// content types a revision does not know) are converted by [Translate], [ClientCapabilities] and [ServerCapabilities].
// The third kind, conversations (initialize against discover, server requests against input_required), needs state and
// belongs to package mcp.
//
// There is one file per revision. Each holds its facts, its methods and the two conversions between it and its base,
// the neighbour it was derived from. The dated revisions form a chain; classic hangs on 2025-11-25, the last revision
// whose payloads it can be read from. No date is ever compared: code asks the rules.
//
// Everything exported is immutable after package initialisation and safe for concurrent use. A [Frame] belongs to its
// caller.
package revision

import (
	"cmp"
	"slices"
)

// An Era is one of the two protocols that share the name MCP.
type Era int

const (
	// Legacy revisions shake hands, may hold sessions and let the server send requests.
	Legacy Era = iota
	// Modern revisions are stateless: every request carries its own context.
	Modern
)

func (e Era) String() string {
	if e == Modern {
		return "modern"
	}
	return "legacy"
}

// A Revision is one dialect of the protocol. Revisions are compared by pointer: there is exactly one of each.
type Revision struct {
	Name  string // as on the wire: "2025-11-25"; "classic" for the undated dialect
	Era   Era
	Rules Rules

	base      *Revision // the neighbour that up and down convert from and to; nil for the root of the tree
	up        shape     // base to this revision
	down      shape     // this revision to base
	caps      capabilityShape
	methods   []Method
	losses    []string
	undated   bool // not negotiable through initialize
	cacheable []string
}

// String returns the name of the revision.
func (r *Revision) String() string { return r.Name }

// Losses lists every value that the conversions between r and its base may append to [Frame.Lost], sorted.
func (r *Revision) Losses() []string { return slices.Sorted(slices.Values(r.losses)) }

// all is newest first; the undated dialect is last.
var all = [...]*Revision{V2026_07_28, V2025_11_25, V2025_06_18, V2025_03_26, V2024_11_05, Classic}

// All returns every revision, newest first and [Classic] last.
func All() []*Revision { return slices.Clone(all[:]) }

// Lookup finds a revision by its wire name.
func Lookup(name string) (*Revision, bool) {
	for _, r := range all {
		if r.Name == name {
			return r, true
		}
	}
	return nil, false
}

// Latest returns the newest revision.
func Latest() *Revision { return all[0] }

// LatestLegacy returns the newest revision that initialize can negotiate.
func LatestLegacy() *Revision { return Negotiate("", all[:]) }

// Negotiate returns what a server that speaks supported answers to an initialize request for the revision requested:
// that revision if it is among them, else the newest of them. Only dated legacy revisions take part, because a modern
// revision is not negotiable through initialize and classic never asks. It returns nil when none remains. The order
// of supported does not matter.
func Negotiate(requested string, supported []*Revision) *Revision {
	var newest *Revision
	for _, r := range supported {
		if r.Era != Legacy || r.undated {
			continue
		}
		if r.Name == requested {
			return r
		}
		if newest == nil || age(r) < age(newest) {
			newest = r
		}
	}
	return newest
}

// age is the position of r counted from the newest revision.
func age(r *Revision) int { return slices.Index(all[:], r) }

// A Direction says which way a message travels.
type Direction int

const (
	ClientToServer Direction = 1 << iota
	ServerToClient
	Both = ClientToServer | ServerToClient
)

// A Kind is the role of a frame.
type Kind int

const (
	Request Kind = iota
	Notification
	Result
	Error
)

func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Result:
		return "result"
	}
	return "error"
}

// A Method is one entry of a revision's method table.
type Method struct {
	Name      string
	Kind      Kind      // Request or Notification
	Direction Direction // who may send it; for an embedded method, whom the question is for
	Extension string    // the extension that defines it, "" for the core protocol
	Embedded  bool      // never a message: it travels inside the inputRequests of a result
}

// Method looks up a method of r. A method that r does not define is unknown; what that means is the caller's choice,
// since vendors add methods of their own.
func (r *Revision) Method(name string) (Method, bool) {
	i, ok := slices.BinarySearchFunc(r.methods, name, func(m Method, name string) int { return cmp.Compare(m.Name, name) })
	if !ok {
		return Method{}, false
	}
	return r.methods[i], true
}

// Methods returns the method table of r, sorted by name.
func (r *Revision) Methods() []Method { return slices.Clone(r.methods) }

// Request reports whether r defines name as a request that may be sent in every direction of d. Extension methods
// count, embedded ones do not.
func (r *Revision) Request(name string, d Direction) bool { return r.sends(name, Request, d) }

// Notification reports whether r defines name as a notification that may be sent in every direction of d.
func (r *Revision) Notification(name string, d Direction) bool { return r.sends(name, Notification, d) }

func (r *Revision) sends(name string, k Kind, d Direction) bool {
	m, ok := r.Method(name)
	return ok && m.Kind == k && !m.Embedded && d != 0 && m.Direction&d == d
}

// Cacheable reports whether complete results of the method carry ttlMs and cacheScope in r.
func (r *Revision) Cacheable(method string) bool { return slices.Contains(r.cacheable, method) }

// table joins method lists into one table in the order that Method searches.
func table(groups ...[]Method) []Method {
	t := slices.Concat(groups...)
	slices.SortFunc(t, func(a, b Method) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

func requests(d Direction, names ...string) []Method      { return entries(Request, d, names) }
func notifications(d Direction, names ...string) []Method { return entries(Notification, d, names) }

func entries(k Kind, d Direction, names []string) []Method {
	t := make([]Method, len(names))
	for i, n := range names {
		t[i] = Method{Name: n, Kind: k, Direction: d}
	}
	return t
}
