package contest

import (
	"io"
	"strconv"
)

// EchoIn is the argument of echo; the result is one text block with Message.
type EchoIn struct {
	Message string `json:"message" jsonschema:"the text to send back"`
}

// MeasureIn and MeasureOut are the argument and the structured result of
// measure, a tool with an inferred output schema.
type MeasureIn struct {
	Text string `json:"text" jsonschema:"the text to measure"`
}

// MeasureOut is the structured result of measure.
type MeasureOut struct {
	Text   string `json:"text"`
	Length int    `json:"length"`
}

// Args has ten properties. M is a marker that makes otherwise equal types
// distinct, so that a cache keyed by type helps ten times at most.
type Args[M any] struct {
	Query    string   `json:"query" jsonschema:"what to look for"`
	Limit    int      `json:"limit" jsonschema:"the largest number of answers"`
	Offset   int      `json:"offset,omitempty" jsonschema:"how many answers to skip"`
	Language string   `json:"language,omitempty" jsonschema:"the language of the answers"`
	Exact    bool     `json:"exact,omitempty" jsonschema:"whether every word has to match"`
	Score    float64  `json:"score,omitempty" jsonschema:"the lowest score of an answer"`
	Tags     []string `json:"tags,omitempty" jsonschema:"labels an answer carries"`
	Owner    string   `json:"owner,omitempty" jsonschema:"who wrote it"`
	Since    string   `json:"since,omitempty" jsonschema:"the earliest date"`
	Until    string   `json:"until,omitempty" jsonschema:"the latest date"`
}

// The marker types of Args.
type (
	M0 struct{}
	M1 struct{}
	M2 struct{}
	M3 struct{}
	M4 struct{}
	M5 struct{}
	M6 struct{}
	M7 struct{}
	M8 struct{}
	M9 struct{}
)

// Tools is how many tools the Hundred set has.
const Tools = 100

// ToolName returns the name of tool i of the Hundred set.
func ToolName(i int) string { return "search_" + strconv.Itoa(i) }

// ToolDescription is the description of every tool of the Hundred set.
const ToolDescription = "Search the collection and return the best answers, newest first."

// HundredSchema is the input schema of a tool of the Hundred set, for a
// contestant that infers nothing.
const HundredSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"what to look for"},` +
	`"limit":{"type":"integer","description":"the largest number of answers"},` +
	`"offset":{"type":"integer","description":"how many answers to skip"},` +
	`"language":{"type":"string","description":"the language of the answers"},` +
	`"exact":{"type":"boolean","description":"whether every word has to match"},` +
	`"score":{"type":"number","description":"the lowest score of an answer"},` +
	`"tags":{"type":"array","items":{"type":"string"},"description":"labels an answer carries"},` +
	`"owner":{"type":"string","description":"who wrote it"},` +
	`"since":{"type":"string","description":"the earliest date"},` +
	`"until":{"type":"string","description":"the latest date"}},` +
	`"required":["query","limit"],"additionalProperties":false}`

// Pipe returns the two ends of a connection made of two [io.Pipe]s.
func Pipe() (server, client End) {
	sr, cw := io.Pipe()
	cr, sw := io.Pipe()
	return End{sr, sw}, End{cr, cw}
}

// An End is one side of a pipe connection.
type End struct {
	R *io.PipeReader
	W *io.PipeWriter
}

// Close closes both directions, which unblocks the other end.
func (e End) Close() error {
	e.W.Close()
	return e.R.Close()
}
