package revision

import (
	"errors"
	"fmt"
	"slices"
)

// A Frame is the part of a message whose shape depends on the revision.
type Frame struct {
	Kind Kind
	// Method is the method of the message or, for a Result or Error, of the request that it answers, in the naming of
	// the revision the frame is in. Translate rewrites it where names differ.
	Method string
	// Body is the params, result or error object as JSON; nil if the message has none. Translate never writes into
	// its bytes: it replaces the slice, or leaves the very same slice when nothing changes.
	Body []byte
	// Meta, a JSON object or nil, has the members to put into the frame's _meta when it enters a revision with
	// RequestMeta: protocolVersion, clientInfo, clientCapabilities and logLevel for a request, serverInfo for a
	// result. They replace members of the same name, which a peer of the other era cannot have meant.
	Meta []byte
	// URI is the resource that a resources/read result answers for. Only results from classic, which do not name it,
	// need it.
	URI string
	// KeepStructured keeps structuredContent and outputSchema on the way to revisions that do not know them. Set it
	// for clients that declared UIExtensionID: their views read them whatever the revision.
	KeepStructured bool
	// Lost collects what a conversion had to drop, each value once. For logs and tests.
	Lost []string

	contents contents // of Body, while Translate runs
}

// ErrNoCounterpart is returned for frames that have no counterpart in the other revision by themselves: results other
// than complete ones across the eras (input_required, task handles), which package mcp turns into conversations, and
// questions that an older client cannot be asked (URL elicitation, a required multi-select, tool use in sampling).
var ErrNoCounterpart = errors.New("no counterpart in the other revision")

// shape converts a frame across one edge of the tree of revisions. The body is a JSON object.
type shape func(f *Frame) error

func (f *Frame) lose(what string) {
	if !slices.Contains(f.Lost, what) {
		f.Lost = append(f.Lost, what)
	}
}

// Translate converts f from one revision to another through their neighbours. Equal revisions cost nothing and touch
// nothing. It may change the Kind: a failed tool call is a result everywhere but in classic, where it is an error. It
// does not judge whether the target has the method: ask the method tables. After an error f is half converted and of
// no use.
func Translate(f *Frame, from, to *Revision) error {
	if from == to {
		return nil
	}
	err := convert(f, from, to)
	f.contents = contents{} // copies of f must not share it
	return err
}

func convert(f *Frame, from, to *Revision) error {
	meet := commonBase(from, to)
	for r := from; r != meet; r = r.base {
		if err := r.down(f); err != nil {
			return fmt.Errorf("%s %s, %s to %s: %w", f.Method, f.Kind, r, r.base, err)
		}
	}
	return climb(f, meet, to)
}

// climb converts f from an ancestor up to r.
func climb(f *Frame, from, r *Revision) error {
	if r == from {
		return nil
	}
	if err := climb(f, from, r.base); err != nil {
		return err
	}
	if err := r.up(f); err != nil {
		return fmt.Errorf("%s %s, %s to %s: %w", f.Method, f.Kind, r.base, r, err)
	}
	return nil
}

// commonBase is where the ways from a and b to the root meet.
func commonBase(a, b *Revision) *Revision {
	for x := a; x != nil; x = x.base {
		for y := b; y != nil; y = y.base {
			if x == y {
				return x
			}
		}
	}
	panic("revision: two trees") // unreachable: every base chain ends at the same root
}

// without removes members of a part of the body and records the loss if there were any.
func (f *Frame) without(obj []byte, loss string, keys ...string) []byte {
	rest := remove(obj, keys...)
	if !same(rest, obj) {
		f.lose(loss)
	}
	return rest
}

// drop removes members of the body itself.
func (f *Frame) drop(loss string, keys ...string) {
	if f.remove(keys...) {
		f.lose(loss)
	}
}

// eachIn edits the elements of an array that is a member of the body.
func (f *Frame) eachIn(key string, fn func([]byte) []byte) {
	f.edit(key, func(arr []byte) []byte { return each(arr, fn) })
}

// eachListed edits the entries of a list result.
func (f *Frame) eachListed(fn func([]byte) []byte) {
	switch f.Method {
	case "tools/list":
		f.eachIn("tools", fn)
	case "prompts/list":
		f.eachIn("prompts", fn)
	case "resources/list":
		f.eachIn("resources", fn)
	case "resources/templates/list":
		f.eachIn("resourceTemplates", fn)
	}
}

// eachContent edits the content blocks of a tool's or prompt's result.
func (f *Frame) eachContent(fn func([]byte) []byte) {
	switch f.Method {
	case "tools/call":
		f.eachIn("content", fn)
	case "prompts/get":
		f.eachIn("messages", func(m []byte) []byte { return edit(m, "content", fn) })
	}
}

// handshake converts the parts of an initialize request or result that every revision has: the version, if it is that
// of the revision the frame comes from, and the capabilities. A nil conversion changes nothing.
func (f *Frame) handshake(from, to string, client, server func([]byte) []byte) {
	convert := client
	switch f.Kind {
	case Result:
		convert = server
	case Error, Notification:
		return
	}
	if text(f.get("protocolVersion")) == from {
		f.set("protocolVersion", quote(to))
	}
	if convert != nil {
		f.edit("capabilities", convert)
	}
}

// implementation is the member of an initialize frame that describes its sender.
func (f *Frame) implementation() string {
	if f.Kind == Result {
		return "serverInfo"
	}
	return "clientInfo"
}
