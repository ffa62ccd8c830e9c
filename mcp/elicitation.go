package mcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"mcpv/internal/rawjson"
	"mcpv/internal/schema"
)

// What a user may do with an elicitation.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// An Elicitation asks the user something: to fill in a form, or to visit a URL
// where secrets may be entered that the client must not see.
type Elicitation struct {
	Key     string // names the answer in the modern era; "" chooses one
	Message string // what the user is told
	Schema  JSON   // form: a flat object schema of what to fill in
	URL     string // url mode: where to go; Schema is ignored then

	Result ElicitResult // the answer, set by Request.Ask
}

// An ElicitResult is the user's answer.
type ElicitResult struct {
	Action  string `json:"action"`           // ActionAccept, ActionDecline or ActionCancel
	Content JSON   `json:"content,omitzero"` // form, when accepted: an object
	Meta    JSON   `json:"_meta,omitzero"`
	Extra   JSON   `json:",embed"`
}

// Accepted reports whether the user agreed.
func (r *ElicitResult) Accepted() bool { return r.Action == ActionAccept }

// Decode reads the content of an accepted form.
func (r *ElicitResult) Decode(into any) error { return decode(r.Content, into) }

// Elicit asks the user to fill in a form and returns the answer. See
// Request.Ask for what the error may be.
func (r *Request) Elicit(ctx context.Context, message string, schema JSON) (*ElicitResult, error) {
	q := &Elicitation{Message: message, Schema: schema}
	if err := r.Ask(ctx, q); err != nil {
		return nil, err
	}
	return &q.Result, nil
}

// ElicitURL asks the user to visit a URL. An accepted answer means that they
// agreed to, not that they are done.
func (r *Request) ElicitURL(ctx context.Context, message, url string) (*ElicitResult, error) {
	q := &Elicitation{Message: message, URL: url}
	if err := r.Ask(ctx, q); err != nil {
		return nil, err
	}
	return &q.Result, nil
}

// An Asker puts questions to the user: *ToolRequest, *PromptRequest and
// *ResourceRequest do.
type Asker interface {
	Elicit(ctx context.Context, message string, schema JSON) (*ElicitResult, error)
}

// Elicit asks the user to fill in a form made from the fields of T, a flat
// struct of strings, numbers and booleans, and slices of strings with an enum;
// the tags are those of [AddTool]. ok tells whether they did; answer is zero when
// they declined. The error is that of [Request.Ask], ErrInputRequired among them:
// return it.
func Elicit[T any](ctx context.Context, r Asker, message string) (answer T, ok bool, err error) {
	form, err := schema.For(reflect.TypeFor[T](), &schema.Options{Open: true})
	if err != nil {
		return answer, false, err
	}
	if err := checkForm(form); err != nil {
		return answer, false, fmt.Errorf("a form of %s: %w", reflect.TypeFor[T](), err)
	}
	result, err := r.Elicit(ctx, message, form)
	if err != nil || !result.Accepted() {
		return answer, false, err
	}
	return answer, true, result.Decode(&answer)
}

// checkForm refuses what clients need not know how to show: forms are flat
// (client features: elicitation, requested schema).
func checkForm(form []byte) error {
	if string(rawjson.Get(form, "type")) != `"object"` {
		return errors.New("it has to be a struct")
	}
	for c := rawjson.Object(rawjson.Get(form, "properties")); c.Next(); {
		switch string(rawjson.Get(c.Value(), "type")) {
		case `"string"`, `"number"`, `"integer"`, `"boolean"`:
		case `"array"`:
			if rawjson.Get(c.Value(), "items", "enum") == nil {
				return fmt.Errorf("the list %s needs an enum", c.Key())
			}
		default:
			return fmt.Errorf("the field %s is no string, number or boolean", c.Key())
		}
	}
	return nil
}

func (q *Elicitation) mode() string {
	if q.URL != "" {
		return "url"
	}
	return "form"
}

func (q *Elicitation) ask() (string, string, []byte) {
	b := append([]byte(`{"mode":"`), q.mode()...)
	b = append(append(b, `","message":`...), quote(q.Message)...)
	if q.URL != "" {
		b = append(append(b, `,"url":`...), quote(q.URL)...)
	} else {
		b = append(append(b, `,"requestedSchema":`...), q.schema()...)
	}
	return q.Key, "elicitation/create", append(b, '}')
}

func (q *Elicitation) schema() []byte {
	if q.Schema == nil {
		return []byte(`{"type":"object","properties":{}}`)
	}
	return q.Schema
}

func (q *Elicitation) needs(s *Session) error {
	if s.CanElicit(q.mode()) {
		return nil
	}
	if s.Revision.Rules.InputRequired {
		return undeclared("elicitation."+q.mode(), `{"elicitation":{"`+q.mode()+`":{}}}`)
	}
	return fmt.Errorf("elicitation in %s mode: %w", q.mode(), ErrUnsupported)
}

func (q *Elicitation) take(result []byte) error {
	var r ElicitResult
	if err := decode(result, &r); err != nil {
		return err
	}
	switch r.Action {
	case ActionAccept, ActionDecline, ActionCancel:
	default:
		return errors.New("elicitation answered without an action")
	}
	if r.Action == ActionAccept && q.URL == "" {
		if rawjson.KindOf(r.Content) != '{' {
			return errors.New("elicitation accepted without content")
		}
		s, err := schema.Compile(q.schema(), schema.Limits{})
		if err != nil {
			return err
		}
		if err := s.Validate(r.Content); err != nil {
			return fmt.Errorf("elicitation answered against its schema: %w", err)
		}
	}
	q.Result = r
	return nil
}
