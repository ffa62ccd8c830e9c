package frontmatter

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpv/internal/rawjson"
)

// errBlankIndented refuses what readers of YAML do not agree on.
var errBlankIndented = errors.New("blanks at the edge of a block scalar")

var errOpenQuote = errors.New("a quote is not closed")

// quoted reads a scalar in quotes, and what follows it on its last line.
func (y *yamlReader) quoted(text string, parent int) (string, error) {
	s, rest, err := y.unquote(text, parent)
	if err == nil && !isComment(rest) {
		err = errors.New("unexpected text after a quote")
	}
	return s, err
}

// unquote returns the content of the quotes that text begins with and what
// comes after them. Line breaks inside are folded.
func (y *yamlReader) unquote(text string, parent int) (content, rest string, err error) {
	quote := text[0]
	text = text[1:]
	var out []byte
	for {
		kept := len(out) // up to here nothing is trimmed: blanks at the end of a line are
		escaped := false
		for text != "" {
			c := text[0]
			switch {
			case c == quote && quote == '\'' && strings.HasPrefix(text[1:], "'"):
				out, text = append(out, '\''), text[2:]
				kept = len(out)
			case c == quote:
				return string(out), text[1:], nil
			case c == '\\' && quote == '"' && len(text) == 1:
				escaped, text = true, ""
				kept = len(out)
			case c == '\\' && quote == '"':
				if out, text, err = escape(out, text[1:]); err != nil {
					return "", "", err
				}
				kept = len(out)
			default:
				out, text = append(out, c), text[1:]
				if c != ' ' && c != '\t' {
					kept = len(out)
				}
			}
		}
		if text, out, err = y.foldQuoted(out[:kept], escaped, parent); err != nil {
			return "", "", err
		}
	}
}

// foldQuoted goes on to the next line inside quotes.
func (y *yamlReader) foldQuoted(out []byte, escaped bool, parent int) (string, []byte, error) {
	empty := 0
	for ; y.at < len(y.lines); y.at++ {
		line := y.lines[y.at]
		body := strings.TrimLeft(line, " \t")
		if body == "" {
			empty++
			continue
		}
		if indentOf(line) <= parent {
			break
		}
		y.at++
		if !escaped || empty > 0 {
			out = append(out, fold(empty)...)
		}
		return body, out, nil
	}
	return "", nil, errOpenQuote
}

// escape reads what follows a backslash in double quotes.
func escape(out []byte, text string) ([]byte, string, error) {
	const simple = "0\x00a\ab\bt\tn\nv\vf\fr\re\x1b\"\"//\\\\  \t\t"
	c := text[0]
	for i := 0; i < len(simple); i += 2 {
		if simple[i] == c {
			return append(out, simple[i+1]), text[1:], nil
		}
	}
	switch c {
	case 'N':
		return append(out, "\u0085"...), text[1:], nil
	case '_':
		return append(out, "\u00a0"...), text[1:], nil
	case 'L':
		return append(out, "\u2028"...), text[1:], nil
	case 'P':
		return append(out, "\u2029"...), text[1:], nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || len(text) <= digits {
		return nil, "", fmt.Errorf("unknown escape \\%c", c)
	}
	n, err := strconv.ParseUint(text[1:1+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return nil, "", fmt.Errorf("invalid escape \\%s", text[:1+digits])
	}
	return utf8.AppendRune(out, rune(n)), text[1+digits:], nil
}

// blockScalar reads a literal (|) or folded (>) scalar below its header.
func (y *yamlReader) blockScalar(header string, parent int) ([]byte, error) {
	indent, chomp, err := blockHeader(header)
	if err != nil {
		return nil, err
	}
	if indent > 0 {
		indent += max(parent, 0)
	}
	lines, err := y.blockLines(indent, parent)
	if err != nil {
		return nil, err
	}
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	text := strings.Join(lines[:end], "\n")
	if header[0] == '>' {
		text = foldLines(lines[:end])
	}
	switch {
	case chomp == '+' && end > 0:
		text += strings.Repeat("\n", len(lines)-end+1)
	case chomp == '+':
		text = strings.Repeat("\n", len(lines))
	case chomp == 0 && end > 0:
		text += "\n"
	}
	return rawjson.AppendString(nil, text), nil
}

// blockLines reads the lines of a block scalar without their indentation, which
// is that of the first when indent is 0.
func (y *yamlReader) blockLines(indent, parent int) ([]string, error) {
	var lines []string
	blank := 0 // the longest line of spaces among those read last
	for ; y.at < len(y.lines); y.at++ {
		line := y.lines[y.at]
		if strings.Trim(line, " ") == "" {
			blank = max(blank, len(line))
			lines = append(lines, line[min(cmp.Or(indent, len(line)), len(line)):])
			continue
		}
		if indent == 0 {
			indent = indentOf(line)
			if indent <= parent {
				break
			}
			if blank > indent {
				return nil, errBlankIndented
			}
		}
		if n := indentOf(line); n < indent {
			if n > parent {
				return nil, errors.New("unexpected indentation")
			}
			break
		}
		lines = append(lines, line[indent:])
		blank = 0
	}
	if blank > indent && indent > 0 {
		return nil, errBlankIndented
	}
	return lines, nil
}

// blockHeader reads the indicators after | or >.
func blockHeader(header string) (indent int, chomp byte, err error) {
	rest := header[1:]
	for rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		switch c := rest[0]; {
		case c >= '1' && c <= '9' && indent == 0:
			indent = int(c - '0')
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
		default:
			return 0, 0, fmt.Errorf("unexpected %q after %c", rest, header[0])
		}
		rest = rest[1:]
	}
	if !isComment(rest) {
		return 0, 0, fmt.Errorf("unexpected text after %c", header[0])
	}
	return indent, chomp, nil
}

// foldLines joins lines by spaces, but for those that are empty or indented.
func foldLines(lines []string) string {
	var out []byte
	var last *string
	empty := 0
	for i := range lines {
		line := &lines[i]
		switch {
		case *line == "":
			empty++
			continue
		case last == nil:
			out = append(out, strings.Repeat("\n", empty)...)
		case indented(*last) || indented(*line):
			out = append(out, strings.Repeat("\n", empty+1)...)
		default:
			out = append(out, fold(empty)...)
		}
		out = append(out, *line...)
		last, empty = line, 0
	}
	return string(out)
}

func indented(line string) bool { return line[0] == ' ' || line[0] == '\t' }

// flow reads a collection in brackets or braces, and returns what follows it.
func flow(text string, depth int) (value []byte, rest string, err error) {
	if depth > maxNesting {
		return nil, "", errors.New("nested too deep")
	}
	open := text[0]
	closing := map[byte]byte{'[': ']', '{': '}'}[open]
	out := []byte{open}
	seen := map[string]bool{}
	for text = blanks(text[1:]); text != ""; {
		if text[0] == closing {
			return append(out, closing), text[1:], nil
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if open == '{' {
			var key string
			if key, text, err = flowKey(text); err != nil {
				return nil, "", err
			}
			if seen[key] {
				return nil, "", fmt.Errorf("key %q appears twice", key)
			}
			seen[key] = true
			out = append(rawjson.AppendString(out, key), ':')
		}
		if value, text, err = flowValue(text, depth); err != nil {
			return nil, "", err
		}
		out = append(out, value...)
		if text = blanks(text); text == "" || text[0] != ',' && text[0] != closing {
			break
		}
		if text[0] == ',' {
			text = blanks(text[1:])
		}
	}
	return nil, "", fmt.Errorf("expected %q on the same line", closing)
}

func blanks(text string) string { return strings.TrimLeft(text, " \t") }

func flowKey(text string) (key, rest string, err error) {
	if text[0] == '"' || text[0] == '\'' {
		if key, rest, err = (&yamlReader{}).unquote(text, 0); err != nil {
			return "", "", err
		}
	} else {
		end := strings.IndexAny(text, ":,[]{}#")
		if end <= 0 {
			return "", "", errors.New("expected a key and a colon")
		}
		key, rest = strings.TrimRight(text[:end], " \t"), text[end:]
		if raw, err := resolve(key); err != nil || raw[0] != '"' || key == "<<" || plainStart(text) != nil {
			return "", "", fmt.Errorf("key %q needs quotes or is not supported", key)
		}
	}
	rest = blanks(rest)
	if rest == "" || rest[0] != ':' || len(rest) > 1 && !strings.ContainsRune(" \t", rune(rest[1])) {
		return "", "", errors.New("expected a colon and a space after a key")
	}
	if rest = blanks(rest[1:]); rest == "" {
		return "", "", errors.New("expected a value on the same line")
	}
	return key, rest, nil
}

func flowValue(text string, depth int) (value []byte, rest string, err error) {
	switch text[0] {
	case '[', '{':
		return flow(text, depth+1)
	case '"', '\'':
		s, rest, err := (&yamlReader{}).unquote(text, 0)
		return rawjson.AppendString(nil, s), rest, err
	}
	end := strings.IndexAny(text, ",[]{}")
	if end <= 0 {
		return nil, "", errors.New("expected a value")
	}
	s, comment, err := plainLine(text[:end], true)
	if err == nil && comment {
		err = errors.New("unexpected comment")
	}
	if err != nil {
		return nil, "", err
	}
	value, err = resolve(s)
	return value, text[end:], err
}
