package jsonrpc_test

import (
	"errors"
	"strings"
	"testing"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// parseCase is one frame. code is 0 for frames that are messages.
type parseCase struct {
	name, frame string
	code        int
	id          string // raw; of the message, or of the answer to what is none
	kind        jsonrpc.Kind
	method      string
	body        string // params, result or error
}

const (
	invalid = jsonrpc.CodeInvalidRequest
	garbled = jsonrpc.CodeParse
)

var parseCases = []parseCase{
	{name: "request", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}`, id: "1", kind: jsonrpc.Request, method: "m", body: `{"a":1}`},
	{name: "no params", frame: `{"jsonrpc":"2.0","id":"x","method":"m"}`, id: `"x"`, kind: jsonrpc.Request, method: "m"},
	{name: "null params are absent", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, id: "1", kind: jsonrpc.Request, method: "m"},
	{name: "any order and white space", frame: " {\t\"params\" :\r\n{ } , \"method\": \"m\",\"id\" : 7 ,\"jsonrpc\":\"2.0\" } \n", id: "7", kind: jsonrpc.Request, method: "m", body: `{ }`},
	{name: "notification", frame: `{"jsonrpc":"2.0","method":"n"}`, kind: jsonrpc.Notification, method: "n"},
	{name: "result", frame: `{"jsonrpc":"2.0","id":1,"result":{"x":[]}}`, id: "1", kind: jsonrpc.Response, body: `{"x":[]}`},
	{name: "result that is null", frame: `{"jsonrpc":"2.0","id":1,"result":null}`, id: "1", kind: jsonrpc.Response, body: `null`},
	{name: "error", frame: `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`, id: "1", kind: jsonrpc.Response, body: `{"code":-1,"message":"no"}`},
	{name: "error with null id", frame: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`, kind: jsonrpc.Response, body: `{"code":-1,"message":"no"}`},
	{name: "error without id", frame: `{"jsonrpc":"2.0","error":{"code":-1,"message":"no"}}`, kind: jsonrpc.Response, body: `{"code":-1,"message":"no"}`},
	{name: "unknown members are ignored", frame: `{"jsonrpc":"2.0","id":1,"method":"m","Method":"evil","extra":{"method":"evil"}}`, id: "1", kind: jsonrpc.Request, method: "m"},
	{name: "escaped names count", frame: `{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"m","par\u0061ms":{}}`, id: "1", kind: jsonrpc.Request, method: "m", body: `{}`},
	{name: "escaped method", frame: `{"jsonrpc":"2.0","id":1,"method":"tools\/c\u0061ll"}`, id: "1", kind: jsonrpc.Request, method: "tools/call"},
	{name: "look-alikes inside strings", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"s":"\",\"method\":\"evil\",\"id\":2"}}`, id: "1", kind: jsonrpc.Request, method: "m", body: `{"s":"\",\"method\":\"evil\",\"id\":2"}`},

	// ids: security.md 6.5 to 6.7 and T14.
	{name: "id beyond 2^53", frame: `{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, id: "9007199254740993", kind: jsonrpc.Request, method: "m"},
	{name: "id beyond 64 bits", frame: `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m"}`, id: "123456789012345678901234567890", kind: jsonrpc.Request, method: "m"},
	{name: "negative id", frame: `{"jsonrpc":"2.0","id":-3,"method":"m"}`, id: "-3", kind: jsonrpc.Request, method: "m"},
	{name: "empty string id", frame: `{"jsonrpc":"2.0","id":"","method":"m"}`, id: `""`, kind: jsonrpc.Request, method: "m"},
	{name: "string of digits", frame: `{"jsonrpc":"2.0","id":"1","method":"m"}`, id: `"1"`, kind: jsonrpc.Request, method: "m"},
	{name: "escaped id is the same id", frame: `{"jsonrpc":"2.0","id":"\u0061\/","method":"m"}`, id: `"a/"`, kind: jsonrpc.Request, method: "m"},
	{name: "null id", frame: `{"jsonrpc":"2.0","id":null,"method":"m"}`, code: invalid},
	{name: "fraction", frame: `{"jsonrpc":"2.0","id":1.5,"method":"m"}`, code: invalid},
	{name: "integral fraction", frame: `{"jsonrpc":"2.0","id":1.0,"method":"m"}`, code: invalid},
	{name: "exponent", frame: `{"jsonrpc":"2.0","id":1e2,"method":"m"}`, code: invalid},
	{name: "object id", frame: `{"jsonrpc":"2.0","id":{},"method":"m"}`, code: invalid},
	{name: "array id", frame: `{"jsonrpc":"2.0","id":[],"method":"m"}`, code: invalid},
	{name: "boolean id", frame: `{"jsonrpc":"2.0","id":true,"method":"m"}`, code: invalid},
	{name: "result with null id", frame: `{"jsonrpc":"2.0","id":null,"result":{}}`, code: invalid},
	{name: "result without id", frame: `{"jsonrpc":"2.0","result":{}}`, code: invalid},
	{name: "error with fraction id", frame: `{"jsonrpc":"2.0","id":0.5,"error":{}}`, code: invalid},

	// What is not JSON: security.md 6.1, 6.2, 6.9 to 6.11.
	{name: "empty", frame: ``, code: garbled},
	{name: "white space only", frame: " \n", code: garbled},
	{name: "half an object", frame: `{`, code: garbled},
	{name: "duplicate method", frame: `{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`, code: garbled},
	{name: "duplicate by escape", frame: `{"jsonrpc":"2.0","id":1,"method":"a","\u006dethod":"b"}`, code: garbled},
	{name: "duplicate id", frame: `{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, code: garbled},
	{name: "duplicate deep in arguments", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"a":[{"k":1,"k":2}]}}}`, code: garbled},
	{name: "trailing data", frame: `{"jsonrpc":"2.0","id":1,"method":"m"} x`, code: garbled},
	{name: "two messages", frame: `{"jsonrpc":"2.0","id":1,"method":"m"}{"jsonrpc":"2.0","id":2,"method":"m"}`, code: garbled},
	{name: "invalid UTF-8", frame: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", code: garbled},
	{name: "lone surrogate", frame: `{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, code: garbled},
	{name: "byte order mark", frame: "\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"m"}`, code: garbled},
	{name: "number too large", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":1e400}}`, code: garbled},
	{name: "id with leading zero", frame: `{"jsonrpc":"2.0","id":01,"method":"m"}`, code: garbled},
	{name: "comment", frame: `{"jsonrpc":"2.0",/**/"id":1,"method":"m"}`, code: garbled},
	{name: "single quotes", frame: `{'jsonrpc':'2.0'}`, code: garbled},
	{name: "depth bomb", frame: strings.Repeat("[", 4<<20), code: garbled},
	{name: "depth bomb in params", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`, code: garbled},

	// JSON that is no message: security.md 6.3, 6.4, 6.8, 6.14.
	{name: "empty batch", frame: `[]`, code: invalid},
	{name: "batch", frame: `[{"jsonrpc":"2.0","id":1,"method":"m"}]`, code: invalid},
	{name: "string", frame: `"hello"`, code: invalid},
	{name: "number", frame: `17`, code: invalid},
	{name: "empty object", frame: `{}`, code: invalid},
	{name: "version 1.0", frame: `{"jsonrpc":"1.0","id":1,"method":"m"}`, code: invalid, id: "1"},
	{name: "version missing", frame: `{"id":"q","method":"m"}`, code: invalid, id: `"q"`},
	{name: "version a number", frame: `{"jsonrpc":2.0,"id":1,"method":"m"}`, code: invalid, id: "1"},
	{name: "Method", frame: `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`, code: invalid, id: "1"},
	{name: "METHOD", frame: `{"jsonrpc":"2.0","id":1,"METHOD":"tools/call"}`, code: invalid, id: "1"},
	{name: "method with NUL", frame: `{"jsonrpc":"2.0","id":1,"method\u0000":"tools/call"}`, code: invalid, id: "1"},
	{name: "folded s in params", frame: `{"jsonrpc":"2.0","id":1,"method":"m","paramſ":{"a":1}}`, id: "1", kind: jsonrpc.Request, method: "m"},
	{name: "JSONRPC", frame: `{"JSONRPC":"2.0","id":1,"method":"m"}`, code: invalid, id: "1"},
	{name: "ID is no id", frame: `{"jsonrpc":"2.0","ID":1,"method":"m"}`, kind: jsonrpc.Notification, method: "m"},
	{name: "method a number", frame: `{"jsonrpc":"2.0","id":1,"method":1}`, code: invalid, id: "1"},
	{name: "method null", frame: `{"jsonrpc":"2.0","id":1,"method":null}`, code: invalid, id: "1"},
	{name: "method empty", frame: `{"jsonrpc":"2.0","id":1,"method":""}`, code: invalid, id: "1"},
	{name: "method and result", frame: `{"jsonrpc":"2.0","id":1,"method":"m","result":{}}`, code: invalid, id: "1"},
	{name: "only an id", frame: `{"jsonrpc":"2.0","id":1}`, code: invalid, id: "1"},
	{name: "params an array", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}`, code: jsonrpc.CodeInvalidParams, id: "1"},
	{name: "params a string", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":"x"}`, code: jsonrpc.CodeInvalidParams, id: "1"},
	{name: "params a boolean", frame: `{"jsonrpc":"2.0","id":1,"method":"m","params":false}`, code: jsonrpc.CodeInvalidParams, id: "1"},

	// An answer to a broken response must not carry an id: it would be taken for
	// the answer to the peer's own request of that id.
	{name: "result and error", frame: `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, code: invalid},
	{name: "response with params", frame: `{"jsonrpc":"2.0","id":1,"result":{},"params":{}}`, code: invalid},
	{name: "error a string", frame: `{"jsonrpc":"2.0","id":1,"error":"no"}`, code: invalid},
	{name: "response of version 1", frame: `{"jsonrpc":"1.0","id":1,"result":{}}`, code: invalid},
}

func TestParse(t *testing.T) {
	for _, c := range parseCases {
		t.Run(c.name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(c.frame))
			if c.code != 0 {
				checkRefused(t, &c, m, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(m.Bytes()) != c.frame {
				t.Errorf("bytes changed: %s", m.Bytes())
			}
			if m.Kind() != c.kind || m.Method() != c.method || m.ID().Raw() != c.id {
				t.Errorf("kind %d method %q id %s", m.Kind(), m.Method(), m.ID().Raw())
			}
			if got := string(bodyOf(m)); got != c.body {
				t.Errorf("body %s, want %s", got, c.body)
			}
		})
	}
}

func checkRefused(t *testing.T, c *parseCase, m *jsonrpc.Message, err error) {
	t.Helper()
	var fe *jsonrpc.FrameError
	if !errors.As(err, &fe) {
		t.Fatalf("message %v, error %v", m, err)
	}
	if fe.Err.Code != c.code || fe.ID.Raw() != c.id {
		t.Errorf("code %d id %s, want %d %s", fe.Err.Code, fe.ID.Raw(), c.code, c.id)
	}
	answer, err := jsonrpc.Parse(fe.Answer().Bytes())
	if err != nil {
		t.Fatalf("the answer is no message: %v", err)
	}
	if answer.Err() == nil || answer.Err().Code != c.code || answer.ID() != fe.ID {
		t.Errorf("answer %s", answer.Bytes())
	}
}

func bodyOf(m *jsonrpc.Message) []byte {
	switch {
	case m.Kind() != jsonrpc.Response:
		return m.Params()
	case m.Err() != nil:
		return m.RawError()
	}
	return m.Result()
}

func TestLimits(t *testing.T) {
	frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[[]]}}`)
	if _, err := jsonrpc.ParseLimited(frame, rawjson.Limits{Depth: 4}); err != nil {
		t.Errorf("depth 4: %v", err)
	}
	if _, err := jsonrpc.ParseLimited(frame, rawjson.Limits{Depth: 3}); !errors.Is(err, jsonrpc.NewError(garbled, "")) {
		t.Errorf("depth 3: %v", err)
	}
	if _, err := jsonrpc.ParseLimited(frame, rawjson.Limits{Members: 4}); !errors.Is(err, jsonrpc.NewError(garbled, "")) {
		t.Errorf("4 members: %v", err)
	}
}

func TestBuild(t *testing.T) {
	odd := "a\"\\\n\u2028é"
	for _, c := range []struct {
		m    *jsonrpc.Message
		want string
	}{
		{jsonrpc.NewRequest(jsonrpc.IntID(-1), "m", nil), `{"jsonrpc":"2.0","id":-1,"method":"m"}`},
		{jsonrpc.NewRequest(jsonrpc.StringID("x"), "m", []byte(`{"a":1}`)), `{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1}}`},
		{jsonrpc.NewNotification("n", []byte(`{}`)), `{"jsonrpc":"2.0","method":"n","params":{}}`},
		{jsonrpc.NewResult(jsonrpc.IntID(1), []byte(`{}`)), `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{jsonrpc.NewErrorResponse(jsonrpc.IntID(1), jsonrpc.NewError(-1, "no").WithData([]byte(`[1]`))), `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no","data":[1]}}`},
		{jsonrpc.NewErrorResponse(jsonrpc.ID{}, jsonrpc.Errorf(-2, "no %d", 7)), `{"jsonrpc":"2.0","error":{"code":-2,"message":"no 7"}}`},
		{jsonrpc.NewRawErrorResponse(jsonrpc.IntID(1), []byte(`{"code":1,"message":"","x":0}`)), `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","x":0}}`},
	} {
		if string(c.m.Bytes()) != c.want {
			t.Errorf("got %s, want %s", c.m.Bytes(), c.want)
		}
		sameAsParsed(t, c.m)
	}
	sameAsParsed(t, jsonrpc.NewRequest(jsonrpc.StringID(odd), odd, []byte(`{"k":"`+"é"+`"}`)))
}

// sameAsParsed checks that what a message says of itself is what its bytes say.
func sameAsParsed(t testing.TB, m *jsonrpc.Message) {
	t.Helper()
	p, err := jsonrpc.Parse(m.Bytes())
	if err != nil {
		t.Fatalf("%s: %v", m.Bytes(), err)
	}
	if p.Kind() != m.Kind() || p.ID() != m.ID() || p.Method() != m.Method() || string(bodyOf(p)) != string(bodyOf(m)) {
		t.Fatalf("%s says %d %s %q %s of itself", m.Bytes(), m.Kind(), m.ID().Raw(), m.Method(), bodyOf(m))
	}
}

func TestBatchSplitJoin(t *testing.T) {
	elements, err := jsonrpc.SplitBatch([]byte(" [ {\"a\":1} ,2,\n[] ] "))
	if err != nil || len(elements) != 3 || string(elements[0]) != `{"a":1}` || string(elements[2]) != `[]` {
		t.Errorf("split %s %v", elements, err)
	}
	for frame, code := range map[string]int{`[]`: invalid, `{}`: invalid, `[1`: garbled, `[1]x`: garbled} {
		if _, err := jsonrpc.SplitBatch([]byte(frame)); !errors.Is(err, jsonrpc.NewError(code, "")) {
			t.Errorf("%s: %v", frame, err)
		}
	}
	joined := jsonrpc.JoinBatch([]*jsonrpc.Message{jsonrpc.NewNotification("a", nil), jsonrpc.NewNotification("b", nil)})
	if want := `[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","method":"b"}]`; string(joined) != want {
		t.Errorf("joined %s", joined)
	}
}

func TestParseErrorObject(t *testing.T) {
	for raw, want := range map[string]jsonrpc.Error{
		`{"code":-32601,"message":"no","data":{"a":1}}`: {Code: -32601, Message: "no", Data: []byte(`{"a":1}`)},
		`{"code":"x","message":7}`:                      {Code: jsonrpc.CodeInternal},
		`{}`:                                            {Code: jsonrpc.CodeInternal},
	} {
		got := jsonrpc.ParseErrorObject([]byte(raw))
		if got.Code != want.Code || got.Message != want.Message || string(got.Data) != string(want.Data) {
			t.Errorf("%s: %+v", raw, got)
		}
	}
	if !errors.Is(jsonrpc.NewError(-1, "a"), jsonrpc.NewError(-1, "b")) || errors.Is(jsonrpc.NewError(-1, "a"), jsonrpc.NewError(-2, "a")) {
		t.Error("errors match by code")
	}
}
