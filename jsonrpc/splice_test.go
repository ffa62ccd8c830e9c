package jsonrpc_test

import (
	"testing"

	"mcpv/jsonrpc"
)

func TestSplice(t *testing.T) {
	id := func(m *jsonrpc.Message) *jsonrpc.Message { return m.WithID(jsonrpc.StringID("long new id")) }
	short := func(m *jsonrpc.Message) *jsonrpc.Message { return m.WithID(jsonrpc.IntID(0)) }
	method := func(m *jsonrpc.Message) *jsonrpc.Message { return m.WithMethod("a\"b") }
	body := func(m *jsonrpc.Message) *jsonrpc.Message { return m.WithBody([]byte(`{"new":[1]}`)) }
	none := func(m *jsonrpc.Message) *jsonrpc.Message { return m.WithBody(nil) }
	for _, c := range []struct {
		name, in, want string
		edit           func(*jsonrpc.Message) *jsonrpc.Message
	}{
		{"id first", `{"id":12345,"jsonrpc":"2.0","method":"m","params":{}}`, `{"id":0,"jsonrpc":"2.0","method":"m","params":{}}`, short},
		{"id last", `{"jsonrpc":"2.0","params":{ },"method":"m" , "id" :  1 }`, `{"jsonrpc":"2.0","params":{ },"method":"m" , "id" :  "long new id" }`, id},
		{"id in the middle of odd space", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\n\"id\"\t:\r\n\"\\u0061\" ,\"params\":{\"id\":1}}", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\n\"id\"\t:\r\n0 ,\"params\":{\"id\":1}}", short},
		{"id of a result", `{"jsonrpc":"2.0","result":{"id":7},"id":7}`, `{"jsonrpc":"2.0","result":{"id":7},"id":0}`, short},
		{"null id of an error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"id"}}`, `{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"id"}}`, short},
		{"the same id", `{"jsonrpc":"2.0","id":0,"method":"m"}`, `{"jsonrpc":"2.0","id":0,"method":"m"}`, short},
		{"no id", `{"jsonrpc":"2.0","method":"m"}`, `{"jsonrpc":"2.0","method":"m"}`, id},
		{"method", `{"jsonrpc":"2.0","params":{"method":"m"},"method":"m","id":1}`, `{"jsonrpc":"2.0","params":{"method":"m"},"method":"a\"b","id":1}`, method},
		{"method of a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, method},
		{"params", `{"jsonrpc":"2.0","params": {"old":"params"} ,"method":"params","id":1}`, `{"jsonrpc":"2.0","params": {"new":[1]} ,"method":"params","id":1}`, body},
		{"params added", `{"jsonrpc":"2.0","id":1,"method":"m" }`, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"new":[1]} }`, body},
		{"params that were null", `{"params":null,"jsonrpc":"2.0","id":1,"method":"{\"new\":[1]}"}`, `{"params":{"new":[1]},"jsonrpc":"2.0","id":1,"method":"{\"new\":[1]}"}`, body},
		{"params removed", `{"jsonrpc":"2.0","params":{"a":1},"id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`, none},
		{"params not there to remove", `{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":1,"method":"m"}`, none},
		{"result", `{"result" : 1,"id":1,"jsonrpc":"2.0"}`, `{"result" : {"new":[1]},"id":1,"jsonrpc":"2.0"}`, body},
		{"error", `{"error":{"code":1,"message":"m"},"id":1,"jsonrpc":"2.0"}`, `{"error":{"new":[1]},"id":1,"jsonrpc":"2.0"}`, body},
		{"all", `{"params":{},"id":1,"x":"id","method":"m","jsonrpc":"2.0"}`, `{"params":{"new":[1]},"id":"long new id","x":"id","method":"a\"b","jsonrpc":"2.0"}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return body(method(id(m))) }},
		{"all, the other way round", `{"params":{},"id":1,"x":"id","method":"m","jsonrpc":"2.0"}`, `{"params":{"new":[1]},"id":0,"x":"id","method":"a\"b","jsonrpc":"2.0"}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return short(id(method(body(m)))) }},
		{"after params were added", `{"jsonrpc":"2.0","method":"m","id":1}`, `{"jsonrpc":"2.0","method":"a\"b","id":0,"params":{"new":[1]}}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return short(method(body(m))) }},
		{"after params were removed", `{"params":{},"jsonrpc":"2.0","method":"m","id":1}`, `{"jsonrpc":"2.0","method":"a\"b","id":0}`,
			func(m *jsonrpc.Message) *jsonrpc.Message { return short(method(none(m))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := jsonrpc.Parse([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			got := c.edit(m)
			if string(got.Bytes()) != c.want {
				t.Errorf("got  %s\nwant %s", got.Bytes(), c.want)
			}
			sameAsParsed(t, got)
			if string(m.Bytes()) != c.in {
				t.Errorf("the original changed: %s", m.Bytes())
			}
		})
	}
}
