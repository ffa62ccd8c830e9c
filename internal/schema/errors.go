package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxProblems bounds the problems that one ValidationError lists.
const maxProblems = 20

// ErrBudget is returned when a validation would cost more than [Limits.Steps]
// allows. It says nothing about the instance.
var ErrBudget = errors.New("schema: validation is too expensive")

// A Problem is one reason why an instance is not valid.
type Problem struct {
	Path    string // JSON pointer of the value; "" is the whole instance
	Message string // "expected integer, got string \"x\""
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// A ValidationError lists what is wrong with an instance, sorted by path, at
// most 20 problems. Its text is fit to be shown to a model that will try again.
type ValidationError struct {
	Problems []Problem
	More     bool // there were more problems than listed
}

func (e *ValidationError) Error() string {
	var sb strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			sb.WriteString("; ")
		}
		sb.WriteString(p.String())
	}
	if e.More {
		sb.WriteString("; and more")
	}
	return sb.String()
}

// newValidationError sorts, removes repetitions and cuts.
func newValidationError(ps []Problem) *ValidationError {
	slices.SortFunc(ps, func(a, b Problem) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Message, b.Message)
	})
	ps = slices.Compact(ps)
	e := &ValidationError{Problems: ps}
	if len(ps) > maxProblems {
		e.Problems, e.More = slices.Clip(ps[:maxProblems]), true
	}
	return e
}

// The texts of problems, shared by both validators.

const (
	msgMissing   = "required property is missing"
	msgUnknown   = "unknown property"
	msgForbidden = "no value is allowed here"
)

func msgExpected(want, got string) string { return "expected " + want + ", got " + got }

func msgPattern(pattern, got string) string {
	return msgExpected("string matching "+clip(pattern), got)
}

func msgCount(bound string, want int, unit string, got int) string {
	if want != 1 {
		unit += "s"
		if strings.HasSuffix(unit, "ys") {
			unit = strings.TrimSuffix(unit, "ys") + "ies"
		}
	}
	return fmt.Sprintf("expected at %s %d %s, got %d", bound, want, unit, got)
}

// msgEnum names at most ten of the wanted values, each as JSON.
func msgEnum(want []string, got string) string {
	if len(want) == 1 {
		return msgExpected(want[0], got)
	}
	s := strings.Join(want[:min(10, len(want))], ", ")
	if len(want) > 10 {
		s += ", …"
	}
	return msgExpected("one of "+s, got)
}

func describeString(s string) string { return "string " + clip(strconv.Quote(s)) }
func describeNumber(s string) string { return "number " + clip(s) }

// clip cuts a text to about 60 bytes, at a character.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// appendPointer adds one segment to a JSON pointer (RFC 6901).
func appendPointer(ptr, seg string) string {
	if strings.ContainsAny(seg, "~/") {
		seg = strings.ReplaceAll(strings.ReplaceAll(seg, "~", "~0"), "/", "~1")
	}
	return ptr + "/" + seg
}
