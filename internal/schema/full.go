package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL is where a schema lives while it is compiled; a relative
// reference resolves against it and is then refused by the loader.
const documentURL = "mcpv:///schema.json"

// full is the complete validator, for schemas outside the common subset.
type full struct {
	doc   any
	steps int

	mu   sync.Mutex
	idle []*engine // engines that nobody uses, at most one per processor
}

// An engine is one compiled schema graph and the budget of the validation that
// runs on it. Graphs cannot be shared: the hook that counts steps is part of
// the graph and is told nothing of the validation that calls it.
type engine struct {
	schema *jsonschema.Schema
	steps  int // left of the budget
	chain  int // the longest chain of subschemas on one value
}

// spent is the panic that leaves a validation whose budget is gone.
type spent struct{}

func newFull(raw []byte, l Limits) (*full, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	f := &full{doc: doc, steps: l.Steps}
	e, err := f.compile()
	if err != nil {
		return nil, err
	}
	f.idle = append(f.idle, e)
	return f, nil
}

// noLoader refuses every reference that leaves the document.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, errors.New("reference to another document is refused")
}

// compile builds an engine. A panic of the compiler becomes an error: schemas
// come from strangers.
func (f *full) compile() (e *engine, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, err = nil, fmt.Errorf("schema: cannot be compiled: %v", p)
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(documentURL, f.doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	root, err := c.Compile(documentURL)
	if err != nil {
		return nil, compileError(err)
	}
	e = &engine{schema: root}
	b := budget{engine: e, seen: map[*jsonschema.Schema]bool{}, chains: map[*jsonschema.Schema]int{}}
	b.attach(root)
	// The targets of a $dynamicRef are not all reachable through the graph's fields.
	for _, ptr := range dynamicAnchors(f.doc, "", nil) {
		if s, err := c.Compile(documentURL + "#" + ptr); err == nil {
			b.attach(s)
		}
	}
	return e, nil
}

func compileError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		return fmt.Errorf("schema: invalid schema: %w", newValidationError(flatten(detail, nil)))
	}
	return fmt.Errorf("schema: %w", err)
}

func (f *full) take() (*engine, error) {
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		e := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.mu.Unlock()
		return e, nil
	}
	f.mu.Unlock()
	return f.compile()
}

func (f *full) put(e *engine) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.idle) < runtime.GOMAXPROCS(0) {
		f.idle = append(f.idle, e)
	}
}

func (f *full) validate(raw []byte) error {
	v, err := decode(raw)
	if err != nil {
		return err
	}
	e, err := f.take()
	if err != nil {
		return err
	}
	defer f.put(e)
	e.steps = f.steps
	err = e.run(v)
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		return newValidationError(flatten(invalid, v))
	}
	return err
}

func (e *engine) run(v any) (err error) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil:
		case spent:
			err = ErrBudget
		default:
			err = fmt.Errorf("schema: validator failed: %v", p)
		}
	}()
	return e.schema.Validate(v)
}

// decode reads strict JSON into maps, slices and json.Number.
func decode(raw []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := decodeValue(dec)
	if err != nil {
		return nil, errMalformed
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, errMalformed
	}
	return v, nil
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if dec.StackDepth() > maxInstanceDepth {
		return nil, errMalformed
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		s := tok.String()
		if !inRange([]byte(s)) {
			return nil, errMalformed
		}
		return json.Number(s), nil
	case '[':
		return decodeArray(dec)
	}
	return decodeObject(dec)
}

func decodeArray(dec *jsontext.Decoder) (any, error) {
	list := []any{}
	for dec.PeekKind() != ']' {
		v, err := decodeValue(dec)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.ReadToken()
	return list, err
}

func decodeObject(dec *jsontext.Decoder) (any, error) {
	object := map[string]any{}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = decodeValue(dec); err != nil {
			return nil, err
		}
	}
	_, err := dec.ReadToken()
	return object, err
}
