package jsonrpc_test

import (
	"testing"

	"mcpv/jsonrpc"
)

// Reading and editing by path touches the bytes of that path alone, in calls and
// in responses of both kinds.
func TestEditByPath(t *testing.T) {
	for _, test := range []struct {
		name, frame string
		edit        func(m *jsonrpc.Message) *jsonrpc.Message
		want        string
	}{
		{"replace in params", `{ "jsonrpc":"2.0","id":9007199254740993, "method":"m","params":{"a" : {"b": 1.0 },"z":[ ]} }`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return m.With([]byte(`"x"`), "a", "b") },
			`{ "jsonrpc":"2.0","id":9007199254740993, "method":"m","params":{"a" : {"b": "x" },"z":[ ]} }`},
		{"add to a result", `{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993}}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return m.With([]byte(`2`), "_meta", "cost") },
			`{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993,"_meta":{"cost":2}}}`},
		{"take from a result", `{"jsonrpc":"2.0","id":1,"result":{"secret":"s","n":1e0}}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return m.Without("secret") },
			`{"jsonrpc":"2.0","id":1,"result":{"n":1e0}}`},
		{"an error's data", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return m.With([]byte(`[]`), "data") },
			`{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m","data":[]}}`},
		{"params that were missing", `{"jsonrpc":"2.0","method":"m"}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return m.With([]byte(`1`), "a") },
			`{"jsonrpc":"2.0","method":"m","params":{"a":1}}`},
		{"nothing there", `{"jsonrpc":"2.0","method":"m"}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return m.Without("a") },
			`{"jsonrpc":"2.0","method":"m"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(test.frame))
			if err != nil {
				t.Fatal(err)
			}
			edited := test.edit(m)
			if got := string(edited.Bytes()); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if string(m.Bytes()) != test.frame {
				t.Errorf("the original became %s", m.Bytes())
			}
			again, err := jsonrpc.Parse(edited.Bytes())
			if err != nil || again.ID() != edited.ID() || string(again.Get()) != string(edited.Get()) {
				t.Errorf("spans: %v, %s, %s", err, again.Get(), edited.Get())
			}
		})
	}
	m, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":{"b":[1]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.Get("a", "b")); got != "[1]" {
		t.Errorf("a.b is %s", got)
	}
	if got := m.Get("a", "c"); got != nil {
		t.Errorf("a.c is %s", got)
	}
}
