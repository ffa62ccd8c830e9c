package mcp_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcpv/jsonrpc"
	"mcpv/mcp"
)

var update = flag.Bool("update", false, "write what the servers answer into the transcripts")

// TestTranscripts plays testdata/transcripts. After its prose, a transcript has
// sections:
//
//	-- server --           the name of a fixture; ends all that was before
//	-- connect alice --    a new connection, of that principal or of nobody
//	-- client --           frames to send, a line each, raw
//	-- event --            what happens to the server: the name of an event and its argument
//	-- wait 11m --         lets time pass
//	-- expect --           the frames that arrived since, raw and in order
//
// A requestState is random: in transcripts the first is STATE1, the next
// STATE2; BROKEN1 is the first with one bit flipped.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			prose, sections := parseTranscript(string(data))
			if strings.TrimSpace(prose) == "" {
				t.Error("it has no prose")
			}
			synctest.Test(t, func(t *testing.T) { play(t, sections) })
			if *update && !t.Failed() {
				if err := os.WriteFile(file, formatTranscript(prose, sections), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

type section struct {
	verb, arg string
	lines     []string
}

var sectionLine = regexp.MustCompile(`^-- (server|connect|client|event|wait|expect)( .*)? --$`)

func parseTranscript(text string) (prose string, sections []*section) {
	var s *section
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch m := sectionLine.FindStringSubmatch(line); {
		case m != nil:
			s = &section{verb: m[1], arg: strings.TrimSpace(m[2])}
			sections = append(sections, s)
		case s == nil:
			prose += line + "\n"
		case line != "":
			s.lines = append(s.lines, line)
		}
	}
	return prose, sections
}

func formatTranscript(prose string, sections []*section) []byte {
	b := bytes.NewBufferString(prose)
	for _, s := range sections {
		fmt.Fprintf(b, "-- %s --\n", strings.TrimSpace(s.verb+" "+s.arg))
		for _, line := range s.lines {
			fmt.Fprintln(b, line)
		}
	}
	return b.Bytes()
}

// play runs a transcript in a bubble, where waiting for quiet is exact.
func play(t *testing.T, sections []*section) {
	p := &player{t: t}
	defer p.disconnect()
	for _, s := range sections {
		switch s.verb {
		case "server":
			p.disconnect()
			p.fixture = fixtures[strings.Join(s.lines, "")]()
			p.connect("")
		case "connect":
			p.disconnect()
			p.connect(s.arg)
		case "client":
			for _, line := range s.lines {
				if err := p.near.Write([]byte(p.withStates(line))); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		case "event":
			for _, line := range s.lines {
				p.event(line)
			}
		case "wait":
			d, err := time.ParseDuration(s.arg)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(d)
		case "expect":
			p.expect(s)
		}
		synctest.Wait()
	}
	if len(p.got) > 0 {
		t.Errorf("at the end:\n%s", strings.Join(p.got, "\n"))
	}
}

type player struct {
	t       *testing.T
	fixture *fixture
	near    jsonrpc.Stream
	served  chan error

	mu     sync.Mutex
	got    []string
	states []string
}

func (p *player) connect(principal string) {
	ctx := context.Background()
	if principal != "" {
		ctx = mcp.WithPrincipal(ctx, &mcp.Principal{Issuer: "https://issuer", Subject: principal})
	}
	near, far := jsonrpc.Pipe()
	p.near, p.served = near, make(chan error)
	go func() { p.served <- mcp.ServeStream(ctx, p.fixture.server, far, nil) }()
	go func() {
		for {
			frame, err := near.Read()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.got = append(p.got, p.named(string(frame)))
			p.mu.Unlock()
		}
	}()
}

func (p *player) disconnect() {
	if p.near == nil {
		return
	}
	p.near.Close()
	if err := <-p.served; err != nil {
		p.t.Errorf("serving ended with %v", err)
	}
	p.near = nil
}

func (p *player) event(line string) {
	for name, f := range p.fixture.events {
		if arg, ok := strings.CutPrefix(line, name+" "); ok && !strings.HasPrefix(line, name+" prompt") || line == name {
			f(arg)
			synctest.Wait()
			return
		}
	}
	p.t.Fatalf("no such event: %s", line)
}

var stateMember = regexp.MustCompile(`"requestState":"([^"]*)"`)

// named replaces the states in a frame by their names.
func (p *player) named(frame string) string {
	return stateMember.ReplaceAllStringFunc(frame, func(m string) string {
		state := stateMember.FindStringSubmatch(m)[1]
		i := slices.Index(p.states, state)
		if i < 0 {
			i, p.states = len(p.states), append(p.states, state)
		}
		return fmt.Sprintf(`"requestState":"STATE%d"`, i+1)
	})
}

// withStates replaces the names of states by states.
func (p *player) withStates(frame string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, state := range p.states {
		broken := []byte(state)
		if middle := &broken[len(broken)/2]; *middle == 'A' {
			*middle = 'B'
		} else {
			*middle = 'A'
		}
		frame = strings.ReplaceAll(frame, fmt.Sprintf(`"STATE%d"`, i+1), `"`+state+`"`)
		frame = strings.ReplaceAll(frame, fmt.Sprintf(`"BROKEN%d"`, i+1), `"`+string(broken)+`"`)
	}
	return frame
}

// expect compares what arrived with what the section says.
func (p *player) expect(s *section) {
	p.mu.Lock()
	got := p.got
	p.got = nil
	p.mu.Unlock()
	if *update {
		s.lines = got
		return
	}
	if want := s.lines; !slices.Equal(got, want) {
		p.t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
