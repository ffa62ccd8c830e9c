// Package scenario holds the measurements. Each one runs in a process of its
// own, started by the driver once per contestant and round, so that heaps do
// not mix and nothing outlives it.
package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcpv/bench/contest"
)

// Options bound a run.
type Options struct {
	For      time.Duration // length of one measurement
	Sessions int           // how many idle sessions are held
	Self     string        // this program, to be started as a server
}

// A Scenario is one row group of the table.
type Scenario struct {
	Name string
	Note string // what is measured, in one line
	// Once marks a scenario that one round settles.
	Once bool
	// Offers reports whether the contestant has what it takes.
	Offers func(c contest.Contestant) bool
	// Run measures once. The caller has checked Offers.
	Run func(ctx context.Context, c contest.Contestant, o Options) (Sample, error)
}

// All returns every scenario, in the order of the table.
func All() []Scenario {
	few := func(e contest.Era) contest.Setup { return contest.Setup{Era: e, Tools: contest.Few} }
	hundred := func(e contest.Era) contest.Setup { return contest.Setup{Era: e, Tools: contest.Hundred} }
	list := []Scenario{
		pipe("pipe/legacy/echo", few(contest.Legacy), echo),
		pipe("pipe/modern/echo", few(contest.Modern), echo),
		memory("memory/legacy/echo", few(contest.Legacy), echo),
		memory("memory/modern/echo", few(contest.Modern), echo),
		memory("memory/legacy/typed", few(contest.Legacy), typed),
		memory("memory/modern/typed", few(contest.Modern), typed),
		stdio("stdio/legacy/echo", few(contest.Legacy)),
		stdio("stdio/modern/echo", few(contest.Modern)),
	}
	for _, m := range modes {
		list = append(list, rawHTTP(m, 1), rawHTTP(m, 32))
	}
	for _, m := range modes {
		list = append(list, ownHTTP(m, 1), ownHTTP(m, 32))
	}
	return append(list,
		pipe("list100/pipe/legacy", hundred(contest.Legacy), listTools),
		memory("list100/memory/modern", hundred(contest.Modern), listTools),
		build(),
		idle("idle/session", false),
		idle("idle/session+stream", true),
	)
}

// Find returns the scenario of that name.
func Find(name string) (Scenario, error) {
	for _, s := range All() {
		if s.Name == name {
			return s, nil
		}
	}
	return Scenario{}, fmt.Errorf("no scenario %q", name)
}

// A job is one call of a client, checked.
type job struct {
	note string
	do   func(ctx context.Context, c contest.Client) error
}

var echo = job{"echo(message), typed tool, text result", func(ctx context.Context, c contest.Client) error {
	got, err := c.Echo(ctx, contest.Message)
	if err == nil && got != contest.Message {
		err = fmt.Errorf("echo returned %q", got)
	}
	return err
}}

var typed = job{"measure(text), typed tool, structured result", func(ctx context.Context, c contest.Client) error {
	got, err := c.Measure(ctx, contest.Message)
	if err == nil && got != len(contest.Message) {
		err = fmt.Errorf("measure returned %d", got)
	}
	return err
}}

var listTools = job{"tools/list of 100 tools with 10 properties, decoded by the client", func(ctx context.Context, c contest.Client) error {
	n, err := c.ListTools(ctx)
	if err == nil && n != contest.Tools {
		err = fmt.Errorf("listed %d tools", n)
	}
	return err
}}

func pipe(name string, s contest.Setup, j job) Scenario {
	return Scenario{
		Name: name, Note: j.note + "; own client, own server, two io.Pipes, one process",
		Offers: offers[contest.Piper],
		Run: func(ctx context.Context, c contest.Contestant, o Options) (Sample, error) {
			return withClient(ctx, o, j, func() (contest.Client, error) { return c.(contest.Piper).DialPipe(ctx, s) })
		},
	}
}

func memory(name string, s contest.Setup, j job) Scenario {
	return Scenario{
		Name: name, Note: j.note + "; own client, own server, the library's in-memory transport",
		Offers: offers[contest.MemoryDialer],
		Run: func(ctx context.Context, c contest.Contestant, o Options) (Sample, error) {
			return withClient(ctx, o, j, func() (contest.Client, error) { return c.(contest.MemoryDialer).DialMemory(ctx, s) })
		},
	}
}

func stdio(name string, s contest.Setup) Scenario {
	return Scenario{
		Name: name, Note: echo.note + "; server in a subprocess; CPU of both processes, bytes and allocations of the client",
		Offers: offers[contest.Stdio],
		Run: func(ctx context.Context, c contest.Contestant, o Options) (Sample, error) {
			cl, err := c.(contest.Stdio).DialStdio(ctx, s, []string{o.Self, "serve-stdio", c.Name(), string(s.Era)})
			if err != nil {
				return Sample{}, err
			}
			cpu, err := familyCPU()
			if err != nil {
				return Sample{}, errors.Join(err, cl.Close())
			}
			sample, err := measure(o.For, load{1, func(int) error { return echo.do(ctx, cl) }, cpu})
			return sample, errors.Join(err, cl.Close())
		},
	}
}

func build() Scenario {
	return Scenario{
		Name: "build100", Note: "construction of a server with 100 typed tools of 10 properties, 10 distinct types, no cache carried over by hand",
		Offers: offers[contest.Builder],
		Run: func(_ context.Context, c contest.Contestant, o Options) (Sample, error) {
			return measure(o.For, load{clients: 1, call: func(int) error {
				s, err := c.(contest.Builder).Build()
				if err == nil && s == nil {
					err = errors.New("no server built")
				}
				return err
			}})
		},
	}
}

func offers[I any](c contest.Contestant) bool {
	_, ok := c.(I)
	return ok
}

func withClient(ctx context.Context, o Options, j job, dial func() (contest.Client, error)) (Sample, error) {
	c, err := dial()
	if err != nil {
		return Sample{}, err
	}
	s, err := measure(o.For, load{clients: 1, call: func(int) error { return j.do(ctx, c) }})
	return s, errors.Join(err, c.Close())
}
