// Command bench runs the same calls through this library, the two Go SDKs and
// a floor, side by side, and prints cost, throughput and ratios. See README.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"mcpv/bench/contest"
	"mcpv/bench/contestants/floor"
	"mcpv/bench/contestants/gosdk"
	"mcpv/bench/contestants/mcpgo"
	"mcpv/bench/contestants/ours"
	"mcpv/bench/scenario"
)

// contestants lists who may take part, in the order of the table.
func contestants() []contest.Contestant {
	return []contest.Contestant{
		floor.Contestant{}, ours.Contestant{},
		mcpgo.Contestant{}, mcpgo.Contestant{Validating: true}, gosdk.Contestant{},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case len(os.Args) > 1 && roles[os.Args[1]] != nil:
		err = roles[os.Args[1]](ctx, os.Args[2:])
	default:
		err = drive(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func drive(ctx context.Context) error {
	var d driver
	short := flag.Bool("short", false, "fewer and shorter rounds, fewer idle sessions: under a minute")
	flag.IntVar(&d.rounds, "rounds", 0, "rounds per scenario (default 5, short 2)")
	flag.DurationVar(&d.each, "each", 0, "length of one measurement (default 250ms, short 80ms)")
	flag.IntVar(&d.sessions, "sessions", 0, "idle sessions held (default 2000, short 300)")
	who := flag.String("who", "", "regular expression of contestants (default all but mcp-go-v, mcp-go with validation on)")
	what := flag.String("what", "", "regular expression of scenarios (default all)")
	asJSON := flag.Bool("json", false, "print the report as JSON")
	update := flag.Bool("update-readme", false, "write the tables into README.md of the current directory")
	list := flag.Bool("list", false, "print the chosen scenarios and what they measure, and run nothing")
	check := flag.Bool("check", false, "exit with status 1 when a target is measured and missed")
	flag.Parse()
	d.defaults(*short)
	if err := d.choose(*who, *what); err != nil {
		return err
	}
	if *list {
		for _, s := range d.what {
			fmt.Printf("%s\n\t%s\n", s.Name, s.Note)
		}
		return nil
	}

	r, err := d.run(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "\t")
		err = enc.Encode(r)
	} else {
		r.Write(os.Stdout)
	}
	if err == nil && *update {
		err = r.UpdateReadme("README.md")
	}
	if err == nil && *check && r.Failed() {
		err = fmt.Errorf("a target was missed")
	}
	return err
}

func (d *driver) defaults(short bool) {
	rounds, each, sessions := 5, 250*time.Millisecond, 2000
	if short {
		rounds, each, sessions = 2, 80*time.Millisecond, 300
	}
	d.rounds, d.each, d.sessions = cmp.Or(d.rounds, rounds), cmp.Or(d.each, each), cmp.Or(d.sessions, sessions)
}

func (d *driver) choose(who, what string) error {
	whoRE, err := regexp.Compile("^(" + cmp.Or(who, "floor|ours|mcp-go|go-sdk") + ")$")
	if err != nil {
		return err
	}
	whatRE, err := regexp.Compile(what)
	if err != nil {
		return err
	}
	for _, c := range contestants() {
		if whoRE.MatchString(c.Name()) {
			d.who = append(d.who, c)
		}
	}
	for _, s := range scenario.All() {
		if whatRE.MatchString(s.Name) {
			d.what = append(d.what, s)
		}
	}
	if len(d.who) == 0 || len(d.what) == 0 {
		return fmt.Errorf("no contestant or no scenario of that name")
	}
	return nil
}
