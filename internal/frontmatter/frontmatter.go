// Package frontmatter reads the YAML frontmatter of Markdown files.
package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpv/internal/rawjson"
)

// maxFrontmatter bounds the frontmatter, in bytes, and maxNesting how deep it
// may be nested.
const (
	maxFrontmatter = 64 << 10
	maxNesting     = 16
)

// Parse returns the YAML frontmatter of a Markdown file as a JSON object.
// It reads what people write into such files: block mappings and sequences,
// plain, quoted and block scalars, flow collections on one line, comments, in
// the core schema of YAML 1.2. Everything else, such as anchors and tags, is an
// error: to guess what a file says of itself would defeat the comparing.
func Parse(file []byte) ([]byte, error) {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	if !utf8.Valid(file) {
		return nil, errors.New("frontmatter: not UTF-8")
	}
	head, rest, _ := strings.Cut(string(file), "\n")
	if strings.TrimSuffix(head, "\r") != "---" {
		return nil, errors.New("frontmatter: the file does not begin with ---")
	}
	y := &yamlReader{}
	for ended := false; !ended; {
		if y.size > maxFrontmatter || rest == "" {
			return nil, errors.New("frontmatter: there is no --- that ends it, or it is too long")
		}
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		if strings.Trim(line, " \t") == "" && strings.Contains(line, "\t") {
			return nil, errors.New("frontmatter: a line of tabs")
		}
		if ended = strings.TrimRight(line, " \t") == "---"; !ended {
			y.lines = append(y.lines, line)
			y.size += len(line) + 1
		}
	}
	if n := len(y.lines); n > 0 && strings.Trim(y.lines[n-1], " ") == "" {
		if y.lines[n-1] != "" {
			return nil, errors.New("frontmatter: it ends with a line of blanks")
		}
		y.lines = y.lines[:n-1] // the break before the end makes no line
	}
	value, err := y.document()
	if err == nil {
		err = rawjson.Check(value)
	}
	if err != nil {
		return nil, fmt.Errorf("frontmatter, line %d: %w", y.at+2, err)
	}
	return value, nil
}

// A yamlReader turns lines of YAML into JSON. at is the line to read next.
type yamlReader struct {
	lines []string
	size  int
	at    int
	depth int
}

func (y *yamlReader) document() ([]byte, error) {
	indent, ok, err := y.peek()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, errors.New("it is empty")
	}
	if _, _, found, err := splitKey(y.lines[y.at][indent:]); err != nil || !found {
		return nil, errors.Join(errors.New("it is no mapping"), err)
	}
	value, err := y.mapping(indent)
	if err != nil {
		return nil, err
	}
	if _, more, err := y.peek(); err != nil || more {
		return nil, errors.Join(errors.New("unexpected indentation"), err)
	}
	return value, nil
}

// peek skips blank lines and comments, and returns the indentation of the next
// line; false at the end.
func (y *yamlReader) peek() (indent int, ok bool, err error) {
	for ; y.at < len(y.lines); y.at++ {
		line := y.lines[y.at]
		text := strings.TrimLeft(line, " ")
		switch trimmed := strings.TrimLeft(text, "\t"); {
		case trimmed == "" || trimmed[0] == '#':
			continue
		case trimmed != text:
			return 0, false, errors.New("tabs do not indent")
		}
		return len(line) - len(text), true, nil
	}
	return 0, false, nil
}

// block reads the value that starts on a line of its own, indented by more than
// parent; null when there is none.
func (y *yamlReader) block(parent int) ([]byte, error) {
	if y.depth++; y.depth > maxNesting {
		return nil, errors.New("nested too deep")
	}
	defer func() { y.depth-- }()
	indent, ok, err := y.peek()
	if err != nil || !ok || indent <= parent {
		return []byte("null"), err
	}
	text := y.lines[y.at][indent:]
	if isItem(text) {
		return y.sequence(indent)
	}
	if _, _, found, err := splitKey(text); err != nil || found {
		if err != nil {
			return nil, err
		}
		return y.mapping(indent)
	}
	y.at++
	return y.scalar(text, parent)
}

func isItem(text string) bool {
	return text == "-" || strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "-\t")
}

// mapping reads the mapping whose keys are indented by exactly n.
func (y *yamlReader) mapping(n int) ([]byte, error) {
	out := []byte{'{'}
	seen := map[string]bool{}
	for {
		indent, ok, err := y.peek()
		if err != nil {
			return nil, err
		}
		if !ok || indent < n {
			return append(out, '}'), nil
		}
		if indent > n {
			return nil, errors.New("unexpected indentation")
		}
		key, rest, found, err := splitKey(y.lines[y.at][n:])
		switch {
		case err != nil:
			return nil, err
		case !found:
			return nil, errors.New("expected a key and a colon")
		case seen[key]:
			return nil, fmt.Errorf("key %q appears twice", key)
		}
		seen[key] = true
		y.at++
		value, err := y.member(rest, n)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, key), ':'), value...)
	}
}

// member reads the value of a key at indentation n; rest follows the colon.
func (y *yamlReader) member(rest string, n int) ([]byte, error) {
	if rest != "" && rest[0] != '#' {
		return y.scalar(rest, n)
	}
	indent, ok, err := y.peek()
	if err != nil {
		return nil, err
	}
	if ok && indent == n && isItem(y.lines[y.at][n:]) { // items may stand below their key
		return y.sequence(n)
	}
	return y.block(n)
}

// sequence reads the sequence whose dashes are indented by exactly n.
func (y *yamlReader) sequence(n int) ([]byte, error) {
	out := []byte{'['}
	for {
		indent, ok, err := y.peek()
		if err != nil {
			return nil, err
		}
		if !ok || indent < n || indent == n && !isItem(y.lines[y.at][n:]) {
			return append(out, ']'), nil
		}
		if indent > n {
			return nil, errors.New("unexpected indentation")
		}
		text := strings.TrimLeft(y.lines[y.at][n+1:], " ")
		if strings.HasPrefix(text, "\t") {
			return nil, errors.New("tabs do not indent")
		}
		if text == "" || text[0] == '#' {
			y.at++
		} else { // what follows the dash is a block of its own
			y.lines[y.at] = strings.Repeat(" ", len(y.lines[y.at])-len(text)) + text
		}
		value, err := y.block(n)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
}

// scalar reads the value that text begins, on a line that has been consumed. It
// may go on over lines indented by more than parent.
func (y *yamlReader) scalar(text string, parent int) ([]byte, error) {
	switch text[0] {
	case '|', '>':
		return y.blockScalar(text, parent)
	case '"', '\'':
		s, err := y.quoted(text, parent)
		return rawjson.AppendString(nil, s), err
	case '[', '{':
		value, rest, err := flow(text, 0)
		if err == nil && !isComment(rest) {
			err = errors.New("unexpected text after a collection, or a collection over several lines")
		}
		return value, err
	}
	return y.plain(text, parent)
}

// isComment reports whether nothing but a comment follows a value.
func isComment(rest string) bool {
	trimmed := strings.TrimLeft(rest, " \t")
	return trimmed == "" || trimmed != rest && trimmed[0] == '#'
}

// plain reads a scalar without quotes and folds its lines.
func (y *yamlReader) plain(text string, parent int) ([]byte, error) {
	first, comment, err := plainLine(text, true)
	if err != nil {
		return nil, err
	}
	out, breaks := []byte(first), 0
	for ; y.at < len(y.lines) && !comment; y.at++ {
		line := y.lines[y.at]
		body := strings.Trim(line, " \t")
		if body == "" {
			breaks++
			continue
		}
		if indentOf(line) <= parent || body[0] == '#' {
			break
		}
		var next string
		if next, comment, err = plainLine(body, false); err != nil {
			return nil, err
		}
		out = append(append(out, fold(breaks)...), next...)
		breaks = 0
	}
	if len(out) > len(first) {
		return rawjson.AppendString(nil, string(out)), nil
	}
	return resolve(first)
}

// fold is what a line break becomes, before the given number of empty lines.
func fold(empty int) string {
	if empty == 0 {
		return " "
	}
	return strings.Repeat("\n", empty)
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// plainLine returns one line of a plain scalar without its comment.
func plainLine(text string, first bool) (body string, comment bool, err error) {
	if first {
		if err := plainStart(text); err != nil {
			return "", false, err
		}
	}
	for i := 1; i < len(text) && !comment; i++ {
		if text[i] == '#' && (text[i-1] == ' ' || text[i-1] == '\t') {
			text, comment = text[:i], true
		}
	}
	text = strings.TrimRight(text, " \t")
	if strings.Contains(text, ": ") || strings.Contains(text, ":\t") || strings.HasSuffix(text, ":") {
		return "", false, errors.New("a value with a colon in it needs quotes")
	}
	return text, comment, nil
}

// plainStart refuses what no plain scalar begins with.
func plainStart(text string) error {
	if strings.ContainsRune(",[]{}#&*!|>'\"%@`", rune(text[0])) {
		return fmt.Errorf("a value that begins with %q is not supported here, or needs quotes", text[0])
	}
	if strings.ContainsRune("-?:", rune(text[0])) && (len(text) == 1 || text[1] == ' ' || text[1] == '\t') {
		return fmt.Errorf("unexpected %q", text[0])
	}
	return nil
}

// splitKey reads "key: rest". found is false when the line has no key.
func splitKey(text string) (key, rest string, found bool, err error) {
	end := 0
	switch text[0] {
	case '"', '\'':
		one := &yamlReader{}
		key, rest, err = one.unquote(text, 0)
		if err != nil { // a scalar over several lines, perhaps
			return "", "", false, nil //nolint:nilerr // then it is read again, as one
		}
		after := strings.TrimLeft(rest, " \t")
		if after == "" || after[0] != ':' {
			return "", "", false, nil
		}
		end = len(text) - len(after)
	case '[', '{', '|', '>', '#', '&', '*', '!':
		return "", "", false, nil
	default:
		if end = keyEnd(text); end < 0 {
			return "", "", false, nil
		}
		key = strings.TrimRight(text[:end], " \t")
		if raw, err := resolve(key); err != nil || len(raw) == 0 || raw[0] != '"' || key == "<<" || plainStart(text) != nil {
			return "", "", false, fmt.Errorf("key %q needs quotes or is not supported", key)
		}
	}
	rest = text[end+1:]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", "", false, nil
	}
	return key, strings.TrimLeft(rest, " \t"), true, nil
}

// keyEnd finds the colon that ends a plain key, -1 when there is none.
func keyEnd(text string) int {
	for i := range len(text) {
		switch {
		case text[i] == '#' && i > 0 && (text[i-1] == ' ' || text[i-1] == '\t'):
			return -1
		case text[i] == ':' && (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t'):
			return i
		}
	}
	return -1
}

var (
	yamlInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	yamlBased = regexp.MustCompile(`^0(o[0-7]+|x[0-9a-fA-F]+)$`)
	yamlFloat = regexp.MustCompile(`^([-+]?)([0-9]*)(?:\.([0-9]*))?([eE][-+]?[0-9]+)?$`)
	yamlOdd   = regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// resolve gives a plain scalar its type, by the core schema.
func resolve(s string) ([]byte, error) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return []byte("null"), nil
	case "true", "True", "TRUE":
		return []byte("true"), nil
	case "false", "False", "FALSE":
		return []byte("false"), nil
	}
	switch {
	case yamlBased.MatchString(s):
		n, err := strconv.ParseUint(s, 0, 64)
		return strconv.AppendUint(nil, n, 10), err
	case yamlOdd.MatchString(s):
		return nil, fmt.Errorf("%s has no counterpart in JSON", s)
	case yamlInt.MatchString(s), strings.ContainsAny(s, "0123456789") && yamlFloat.MatchString(s):
		return number(s)
	}
	return rawjson.AppendString(nil, s), nil
}

// number writes a number of YAML in the grammar of JSON.
func number(s string) ([]byte, error) {
	m := yamlFloat.FindStringSubmatch(s)
	if m == nil || m[2] == "" && m[3] == "" {
		return rawjson.AppendString(nil, s), nil
	}
	out := []byte(strings.TrimPrefix(m[1], "+"))
	if whole := strings.TrimLeft(m[2], "0"); whole != "" {
		out = append(out, whole...)
	} else {
		out = append(out, '0')
	}
	if m[3] != "" {
		out = append(append(out, '.'), m[3]...)
	}
	return append(out, m[4]...), nil
}
