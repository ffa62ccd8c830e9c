package mcp

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/revision"
)

// ErrInputRequired ends a handler that asked a modern client something it has
// not answered yet. Return it, wrapped or not: the library sends the question,
// and runs the handler again from its start when the client comes back with the
// answer. Code before a question therefore runs once per round.
var ErrInputRequired = errors.New("the client has to answer a question first")

// A Question is something a server asks a client in the middle of a request:
// an *Elicitation, a *Sampling or a *RootsQuestion. Request.Ask takes them.
type Question interface {
	// ask returns the request to send. key is the name the answer comes under
	// in the modern era, "" to have one chosen by position.
	ask() (key, method string, params []byte)
	// needs returns an error when the client has not declared what it takes.
	needs(s *Session) error
	// take reads the answer. An error means that it is no answer: a modern
	// client is asked again, a legacy one has failed.
	take(result []byte) error
}

// rounds is what a request knows of the questions asked in its name.
type rounds struct {
	answers map[string][]byte // raw results by key
	pending []pendingQuestion
	asked   int
}

type pendingQuestion struct {
	key, method string
	params      []byte
}

// Ask puts questions to the client and returns when all are answered. Several
// at once cost a modern client one round instead of many. To a legacy client
// they are requests, sent one after the other, and Ask blocks; for a modern one
// it returns ErrInputRequired in the first round and nil in the next.
func (r *Request) Ask(ctx context.Context, questions ...Question) error {
	s := r.Exchange.Session
	for _, q := range questions {
		if err := q.needs(s); err != nil {
			return err
		}
	}
	switch {
	case r.task != nil:
		return r.task.ask(ctx, r, questions)
	case s.Revision.Rules.ServerRequests:
		return r.askDirectly(ctx, questions)
	case s.Revision.Rules.InputRequired:
		return r.askByRounds(questions)
	}
	return ErrNoRequests
}

func (r *Request) askDirectly(ctx context.Context, questions []Question) error {
	for _, q := range questions {
		_, method, params := q.ask()
		if err := r.askOne(ctx, q, method, params); err != nil {
			return err
		}
	}
	return nil
}

// askOne sends one question as a request in the shape of the client's revision.
func (r *Request) askOne(ctx context.Context, q Question, method string, params []byte) error {
	latest, now := revision.Latest(), r.Exchange.Session.Revision
	f := revision.Frame{Kind: revision.Request, Method: method, Body: params}
	if err := revision.Translate(&f, latest, now); err != nil {
		return err
	}
	answer, err := r.Exchange.Peer.Call(ctx, f.Method, f.Body)
	if err != nil {
		return err
	}
	if err := answer.Err(); err != nil {
		return err
	}
	f = revision.Frame{Kind: revision.Result, Method: method, Body: answer.Result()}
	if err := revision.Translate(&f, now, latest); err != nil {
		return err
	}
	return q.take(f.Body)
}

func (r *Request) askByRounds(questions []Question) error {
	missing := false
	for _, q := range questions {
		key, method, params := q.ask()
		r.rounds.asked++
		if key == "" {
			key = fmt.Sprintf("q%d", r.rounds.asked)
		}
		if answer, ok := r.rounds.answers[key]; ok && q.take(answer) == nil {
			continue
		}
		delete(r.rounds.answers, key)
		missing = true
		r.rounds.pending = append(r.rounds.pending, pendingQuestion{key, method, params})
	}
	if missing {
		return ErrInputRequired
	}
	return nil
}

// loadRounds reads what the client brings back from earlier rounds.
func (r *Request) loadRounds(now time.Time) error {
	if !r.Exchange.Session.Revision.Rules.InputRequired {
		return nil
	}
	var state, responses []byte
	for c := rawjson.Object(r.Exchange.Request.Params()); c.Next(); {
		switch {
		case c.KeyIs("requestState"):
			state = c.Value()
		case c.KeyIs("inputResponses"):
			responses = c.Value()
		}
	}
	if state == nil && responses == nil {
		return nil
	}
	r.rounds.answers = map[string][]byte{}
	if state != nil {
		token, ok := rawjson.String(state)
		if !ok {
			return invalidParams("requestState must be a string")
		}
		answers, err := r.server.seal.open(token, r.binding(), now)
		if err != nil {
			return invalidParams("requestState is not valid here: %v", err)
		}
		r.addAnswers(answers)
	}
	if responses != nil && rawjson.KindOf(responses) != '{' {
		return invalidParams("inputResponses must be an object")
	}
	r.addAnswers(responses)
	return nil
}

func (r *Request) addAnswers(object []byte) {
	for c := rawjson.Object(object); c.Next(); {
		r.rounds.answers[c.Key()] = c.Value()
	}
}

// binding is what a state is good for: this principal, this method, these
// params. Anything else is a replay.
func (r *Request) binding() []byte {
	h := sha256.New()
	x := r.Exchange
	put := func(b []byte) { fmt.Fprintf(h, "%d:", len(b)); h.Write(b) }
	put([]byte(x.Session.Principal.Key()))
	put([]byte(x.Request.Method()))
	params := x.Request.Params()
	for _, volatile := range []string{"_meta", "requestState", "inputResponses"} {
		params = rawjson.Delete(params, volatile)
	}
	put(appendCanonical(nil, params))
	return h.Sum(nil)
}

// appendCanonical writes a value without white space and with the members of
// objects in order, so that a client may write the same params otherwise.
func appendCanonical(b, v []byte) []byte {
	switch rawjson.KindOf(v) {
	case '{':
		var members [][]byte
		for c := rawjson.Object(v); c.Next(); {
			members = append(members, appendCanonical(append(rawjson.AppendString(nil, c.Key()), ':'), c.Value()))
		}
		slices.SortFunc(members, bytes.Compare)
		return append(append(append(b, '{'), bytes.Join(members, []byte{','})...), '}')
	case '[':
		b = append(b, '[')
		for c := rawjson.Array(v); c.Next(); {
			b = append(appendCanonical(b, c.Value()), ',')
		}
		return append(b, ']')
	case '"':
		s, _ := rawjson.String(v)
		return rawjson.AppendString(b, s)
	}
	return append(b, rawjson.Trim(v)...)
}

// inputRequired answers with the questions that are open.
func (r *Request) inputRequired(now time.Time) *jsonrpc.Message {
	b := append([]byte(nil), `{"inputRequests":`...)
	b = appendQuestions(b, r.rounds.pending)
	answers := []byte{'{'}
	for key, raw := range r.rounds.answers {
		if len(answers) > 1 {
			answers = append(answers, ',')
		}
		answers = append(append(append(answers, quote(key)...), ':'), raw...)
	}
	state := r.server.seal.close(append(answers, '}'), r.binding(), now.Add(r.server.opts.StateTTL))
	b = append(append(b, `,"requestState":`...), quote(state)...)
	return jsonrpc.NewResult(r.Exchange.Request.ID(), r.server.stamp(append(b, '}'), "input_required"))
}

func appendQuestions(b []byte, questions []pendingQuestion) []byte {
	b = append(b, '{')
	for i, q := range questions {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, quote(q.key)...), `:{"method":`...)
		b = append(b, quote(q.method)...)
		if q.params != nil {
			b = append(append(b, `,"params":`...), q.params...)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// A sealer turns state into tokens that only it can read and make.
type sealer struct{ keys []sealKey }

type sealKey struct {
	id   byte
	aead cipher.AEAD
}

func newSealer(keys [][]byte) *sealer {
	s := &sealer{}
	for _, k := range keys {
		if len(k) != 32 {
			panic("mcp: a state key has 32 bytes")
		}
		block, err := aes.NewCipher(k)
		if err != nil {
			panic("mcp: " + err.Error())
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			panic("mcp: " + err.Error())
		}
		sum := sha256.Sum256(append([]byte("mcpv state key id"), k...))
		s.keys = append(s.keys, sealKey{sum[0], aead})
	}
	return s
}

// close seals state for the binding until the time given. The token is one key
// id byte, the nonce and the sealed text, in base64url.
func (s *sealer) close(state, binding []byte, until time.Time) string {
	k := s.keys[0]
	plain := append(append([]byte(itoa(until.Unix())), ' '), state...)
	out := make([]byte, 1+k.aead.NonceSize(), 1+k.aead.NonceSize()+len(plain)+k.aead.Overhead())
	out[0] = k.id
	rand.Read(out[1:])
	return base64.RawURLEncoding.EncodeToString(k.aead.Seal(out, out[1:], plain, binding))
}

var errBadState = errors.New("it was not made for this request, or has expired")

// open returns the state, an object, if the token is whole, made by one of the
// keys for the binding, and not too old.
func (s *sealer) open(token string, binding []byte, now time.Time) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) == 0 {
		return nil, errBadState
	}
	for _, k := range s.keys {
		n := k.aead.NonceSize()
		if k.id != b[0] || len(b) < 1+n {
			continue
		}
		plain, err := k.aead.Open(nil, b[1:1+n], b[1+n:], binding)
		if err != nil {
			continue
		}
		var until int64
		i := 0
		for i < len(plain) && plain[i] != ' ' {
			until = until*10 + int64(plain[i]-'0')
			i++
		}
		if i >= len(plain) || now.Unix() > until {
			return nil, errBadState
		}
		return plain[i+1:], nil
	}
	return nil, errBadState
}
