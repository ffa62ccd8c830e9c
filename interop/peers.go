// Package interop runs other people's MCP clients and servers as real processes beside ours.
//
// The peers are described in README.md: TypeScript SDK v1 and v2, go-sdk and mcp-go, each as a server with the same
// tools, resources and prompts and as a client that tries all of them; the official everything server and the
// inspector's command line come as they are.
package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpv/conformance/nodejs"
	"mcpv/interop/peers/feature"
)

// Peers is what is installed and built. It is immutable and safe for concurrent use.
type Peers struct {
	env *nodejs.Env
	bin string
}

// Setup installs the npm peers and builds the Go ones below dir/.cache; dir is the folder of this package.
func Setup(ctx context.Context, dir string) (*Peers, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	cache := filepath.Join(dir, ".cache")
	env, err := nodejs.Install(ctx, dir, cache)
	if err != nil {
		return nil, err
	}
	// Node.js finds packages by walking up from the script, so the scripts live beside node_modules.
	if err := copyScripts(filepath.Join(dir, "peers"), filepath.Join(env.Dir, "peers")); err != nil {
		return nil, err
	}
	p := &Peers{env: env, bin: filepath.Join(cache, "bin")}
	for _, name := range []string{"ourserver", "peers/gosdk/server", "peers/gosdk/client", "peers/mcpgo/server", "peers/mcpgo/client"} {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", p.binary(name), "./"+name)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", name, err, bytes.TrimSpace(out))
		}
	}
	return p, nil
}

// binary returns where the program of a folder is built.
func (p *Peers) binary(name string) string {
	return filepath.Join(p.bin, strings.ReplaceAll(strings.TrimPrefix(name, "peers/"), "/", "-"))
}

func copyScripts(from, to string) error {
	scripts, err := filepath.Glob(filepath.Join(from, "*.mjs"))
	if err != nil {
		return err
	}
	nested, err := filepath.Glob(filepath.Join(from, "*", "*.mjs"))
	if err != nil {
		return err
	}
	for _, script := range append(scripts, nested...) {
		rel, err := filepath.Rel(from, script)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(script)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		// Written aside and renamed: another test process may be reading it.
		temp, err := os.CreateTemp(filepath.Dir(target), ".new-*")
		if err != nil {
			return err
		}
		_, err = temp.Write(data)
		if err := errors.Join(err, temp.Close(), os.Rename(temp.Name(), target)); err != nil {
			return err
		}
	}
	return nil
}

// The names of the peers. Everything is a server only, and so is Ours: our client lives in the tests.
const (
	Ours       = "ours"
	GoSDK      = "gosdk"
	MCPGo      = "mcpgo"
	TSv1       = "ts-v1"
	TSv2       = "ts-v2"
	Everything = "everything"
)

// Server returns the command of a server on stdio; args are --http, and --modern for a go-sdk server of 2026-07-28. The
// everything server has --sse too.
func (p *Peers) Server(name string, args ...string) []string {
	switch name {
	case Everything:
		transport := "stdio"
		if slices.Contains(args, "--http") {
			transport = "streamableHttp"
		} else if slices.Contains(args, "--sse") {
			transport = "sse"
		}
		return []string{p.env.Node, p.env.Script("@modelcontextprotocol", "server-everything", "dist", "index.js"), transport}
	case Ours:
		return append([]string{p.binary("ourserver")}, args...)
	case GoSDK, MCPGo:
		return append([]string{p.binary(name + "/server")}, args...)
	default:
		return append([]string{p.env.Node, filepath.Join(p.env.Dir, "peers", name, "server.mjs")}, args...)
	}
}

// Client returns the command of a client, to be followed by a URL or a command. The protocol version may be empty.
func (p *Peers) Client(name, protocol string) []string {
	var command []string
	if name == GoSDK || name == MCPGo {
		command = []string{p.binary(name + "/client")}
	} else {
		command = []string{p.env.Node, filepath.Join(p.env.Dir, "peers", name, "client.mjs")}
	}
	if protocol != "" {
		command = append(command, "--protocol", protocol)
	}
	return command
}

// Run runs a client against a URL or a command and returns what it reported. A client that reports a failure exits
// with 1, which is no error here; one that reports nothing is.
func (p *Peers) Run(ctx context.Context, client []string, target ...string) ([]feature.Result, error) {
	args := append(append([]string{}, client[1:]...), target...)
	cmd := exec.CommandContext(ctx, client[0], args...)
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	results, parseErr := parseResults(out)
	if parseErr != nil || len(results) == 0 {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(client, " "), errors.Join(err, parseErr, ctx.Err()), out, stderr.Bytes())
	}
	return results, nil
}

func parseResults(out []byte) ([]feature.Result, error) {
	var results []feature.Result
	for line := range bytes.Lines(out) {
		var r feature.Result
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// Inspect runs the inspector's command line, with a home that is empty and goes again, and returns its JSON answer.
func (p *Peers) Inspect(ctx context.Context, args ...string) (json.RawMessage, error) {
	home, err := os.MkdirTemp("", "inspector-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	script := p.env.Script("@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	cmd := exec.CommandContext(ctx, p.env.Node, append([]string{script, "--cli"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("inspector %s: %w\n%s%s", strings.Join(args, " "), err, out, stderr.Bytes())
	}
	return out, nil
}

// Start starts an HTTP server that says its URL in its first line. stop ends it and waits.
func Start(ctx context.Context, command []string) (url string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	stop = func() {
		cancel()
		<-drained
		_ = cmd.Wait() // it was killed: its status says nothing
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("%s said no URL: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(line), stop, nil
}

// StartEverything starts the everything server with "--http" or "--sse". It takes its port from the environment and
// says nothing useful on stdout, so a free port is chosen for it and waited for.
func (p *Peers) StartEverything(ctx context.Context, transport string) (url string, stop func(), err error) {
	probe, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(probe.Addr().String())
	if err := errors.Join(err, probe.Close()); err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	command := p.Server(Everything, transport)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, err
	}
	stop = func() {
		cancel()
		_ = cmd.Wait() // it was killed: its status says nothing
	}
	limited, done := context.WithTimeout(ctx, 20*time.Second)
	defer done()
	err = feature.Until(limited, func() (bool, error) {
		conn, err := net.Dial("tcp", "localhost:"+port)
		if err != nil {
			return false, nil
		}
		return true, conn.Close()
	})
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("everything server does not listen: %w", err)
	}
	path := map[string]string{"--http": "/mcp", "--sse": "/sse"}[transport]
	return "http://localhost:" + port + path, stop, nil
}
