// Package mcpheader is the codec of the Mcp-Name and Mcp-Param-* headers of
// revision 2026-07-28 (basic/transports/streamable-http): how a value of the
// body is written in a header, how the two are compared, and which arguments of
// a tool its schema mirrors in headers.
package mcpheader

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParamPrefix begins the name of every header that mirrors an argument.
const ParamPrefix = "Mcp-Param-"

// The markers of an encoded value are lower case, exactly.
const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// base64Strict refuses missing padding and stray trailing bits, so that one
// value has one encoding.
var base64Strict = base64.StdEncoding.Strict()

// The errors of Decode.
var (
	ErrCharacter = errors.New("header value has a character that is not visible ascii, space or tab")
	ErrBase64    = errors.New("header value is not valid base64 in its markers")
	ErrUTF8      = errors.New("header value does not decode to utf-8")
)

// Encode returns value as a header value: as it is when it consists of visible
// ASCII with spaces and tabs only between, and cannot be taken for an encoded
// value; otherwise its UTF-8 bytes as base64 between markers. The value must be
// valid UTF-8, which every string of a checked JSON text is.
func Encode(value string) string {
	if plain(value) && trimOWS(value) == value && !encoded(value) {
		return value
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(value)) + sentinelEnd
}

// Decode returns the value that a header carries; space around it does not
// count. A value without both markers stands for itself. Control characters
// are refused in the header, not in what base64 hides: there they are data.
func Decode(header string) (string, error) {
	header = trimOWS(header)
	if !plain(header) {
		return "", ErrCharacter
	}
	if !encoded(header) {
		return header, nil
	}
	text := header[len(sentinelStart) : len(header)-len(sentinelEnd)]
	b, err := base64Strict.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBase64, err)
	}
	if !utf8.Valid(b) {
		return "", ErrUTF8
	}
	return string(b), nil
}

// Param returns the name of the header that mirrors an argument annotated with
// name.
func Param(name string) string { return ParamPrefix + name }

// ValidateAnnotation says whether name may be the value of an x-mcp-header
// annotation: a token of RFC 9110, section 5.6.2, which is not empty.
func ValidateAnnotation(name string) error {
	if name == "" {
		return errors.New("x-mcp-header is empty")
	}
	for i := range len(name) {
		if !tokenChar(name[i]) {
			return fmt.Errorf("x-mcp-header %q is not a token: bad byte at %d", name, i)
		}
	}
	return nil
}

func tokenChar(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c != 0 && strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func encoded(s string) bool {
	return len(s) >= len(sentinelStart)+len(sentinelEnd) &&
		strings.HasPrefix(s, sentinelStart) && strings.HasSuffix(s, sentinelEnd)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// trimOWS removes optional white space as RFC 9110, section 5.6.3, defines it.
func trimOWS(s string) string { return strings.Trim(s, " \t") }
