// Package feature is how a peer client says what it tried and how it went: one JSON line per feature on stdout.
package feature

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Result is one line.
type Result struct {
	Feature string `json:"feature"`
	OK      bool   `json:"ok"`
	Skip    bool   `json:"skip,omitempty"` // the peer or the negotiated revision does not have it
	Detail  string `json:"detail,omitempty"`
}

// ErrSkip marks a feature that does not exist here.
var ErrSkip = errors.New("not available")

// Skip returns an error that marks a feature as not available, with the reason.
func Skip(reason string) error { return fmt.Errorf("%w: %s", ErrSkip, reason) }

// Limit bounds one feature.
const Limit = 10 * time.Second

// Reporter prints results. It is used by one goroutine.
type Reporter struct{ failed bool }

// Try runs one feature within Limit and prints how it went.
func (r *Reporter) Try(ctx context.Context, name string, f func(ctx context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	detail, err := f(ctx)
	line := Result{Feature: name, OK: err == nil, Detail: detail}
	if err != nil {
		line.Skip = errors.Is(err, ErrSkip)
		line.Detail = err.Error()
		r.failed = r.failed || !line.Skip
	}
	data, err := json.Marshal(line)
	if err != nil {
		panic(err) // a struct of strings and bools
	}
	os.Stdout.Write(append(data, '\n'))
}

// Failed reports whether any feature failed.
func (r *Reporter) Failed() bool { return r.failed }

// Want returns an error unless got equals want.
func Want[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// Until polls ok every 20 ms until it reports true or ctx ends.
func Until(ctx context.Context, ok func() (bool, error)) error {
	for {
		done, err := ok()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
