package mcp

import (
	"bytes"

	"mcpv/internal/rawjson"
)

// The types that every call or list returns are read by hand where they look as
// they mostly do, which takes a fraction of the time that reflection does.
// Whatever looks different, unknown members included, is left to decode: what
// is read and which errors there are is the same either way. Nothing read
// shares its bytes with the frame: frames may be cached.

// decodeTool is decode for a Tool, which has to be zero.
func decodeTool(raw []byte, t *Tool) error {
	if !readTool(raw, t) {
		*t = Tool{}
		return decode(raw, t)
	}
	return nil
}

func readTool(raw []byte, t *Tool) bool {
	if rawjson.KindOf(raw) != '{' {
		return false
	}
	for c := rawjson.Object(raw); c.Next(); {
		ok := true
		switch v := c.Value(); {
		case c.KeyIs("name"):
			t.Name, ok = rawjson.String(v)
		case c.KeyIs("title"):
			t.Title, ok = rawjson.String(v)
		case c.KeyIs("description"):
			t.Description, ok = rawjson.String(v)
		case c.KeyIs("inputSchema"):
			t.InputSchema = bytes.Clone(v)
		case c.KeyIs("outputSchema"):
			t.OutputSchema = bytes.Clone(v)
		case c.KeyIs("annotations"):
			ok = decode(v, &t.Annotations) == nil
		case c.KeyIs("icons"):
			ok = decode(v, &t.Icons) == nil
		case c.KeyIs("_meta"):
			t.Meta = bytes.Clone(v)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

// decodeToolResult is decode for a ToolResult.
func decodeToolResult(raw []byte) (*ToolResult, error) {
	r := &ToolResult{}
	if readToolResult(raw, r) {
		return r, nil
	}
	*r = ToolResult{}
	return r, decode(raw, r)
}

func readToolResult(raw []byte, r *ToolResult) bool {
	if rawjson.KindOf(raw) != '{' {
		return false
	}
	for c := rawjson.Object(raw); c.Next(); {
		ok := true
		switch v := c.Value(); {
		case c.KeyIs("content"):
			r.Content, ok = readContents(v)
		case c.KeyIs("structuredContent"):
			r.Structured = bytes.Clone(v)
		case c.KeyIs("isError"):
			r.IsError, ok = rawjson.Bool(v)
		case c.KeyIs("resultType"):
			r.ResultType, ok = readResultType(v)
		case c.KeyIs("_meta"):
			r.Meta = bytes.Clone(v)
		default:
			return false
		}
		if !ok {
			return false
		}
	}
	return true
}

// readResultType spares the string that nearly all results have.
func readResultType(v []byte) (string, bool) {
	if string(v) == `"complete"` {
		return "complete", true
	}
	return rawjson.String(v)
}

func readContents(raw []byte) ([]Content, bool) {
	if rawjson.KindOf(raw) != '[' {
		return nil, false
	}
	list := make([]Content, 0, 1)
	for c := rawjson.Array(raw); c.Next(); {
		list = append(list, Content{})
		block := &list[len(list)-1]
		if !readText(c.Value(), block) {
			*block = Content{}
			if decode(c.Value(), block) != nil {
				return nil, false
			}
		}
	}
	return list, true
}

// readText reads a text block that has nothing but its text.
func readText(raw []byte, b *Content) bool {
	if rawjson.KindOf(raw) != '{' {
		return false
	}
	for c := rawjson.Object(raw); c.Next(); {
		switch v := c.Value(); {
		case c.KeyIs("type") && string(v) == `"text"`:
			b.Type = "text"
		case c.KeyIs("text"):
			s, ok := rawjson.String(v)
			if !ok {
				return false
			}
			b.Text = &s
		default:
			return false
		}
	}
	return true
}
