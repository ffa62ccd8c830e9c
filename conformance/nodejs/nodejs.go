// Package nodejs installs a pinned set of npm packages into a cache folder and finds a Node.js that can run them.
//
// The conformance runner and the interop tests use it: both describe what they need with a package.json and a
// package-lock.json beside their code, and neither wants anything installed outside the checkout.
package nodejs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// MinMajor is the oldest Node.js the pinned packages run on.
const MinMajor = 22

// Env is an installed set of packages. It is immutable and safe for concurrent use.
type Env struct {
	Node string // path of the node binary, at least MinMajor
	Dir  string // holds node_modules
}

// Script returns the path of a file inside node_modules.
func (e *Env) Script(elem ...string) string {
	return filepath.Join(append([]string{e.Dir, "node_modules"}, elem...)...)
}

// Install makes sure that the packages locked in source/package-lock.json are installed below cache and returns them.
//
// An installation is keyed by the content of the two files, so a changed lock installs anew and an unchanged one
// costs a stat. Processes that install at the same time wait for one another on a lock file in cache.
func Install(ctx context.Context, source, cache string) (*Env, error) {
	key, err := digest(filepath.Join(source, "package.json"), filepath.Join(source, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	cache, err = filepath.Abs(cache)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(cache, "lock")).Lock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", cache, err)
	}
	defer unlock()

	dir := filepath.Join(cache, key)
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		if err := install(ctx, source, dir); err != nil {
			return nil, err
		}
	}
	node, err := findNode(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Env{Node: node, Dir: dir}, nil
}

// install fills dir. The file "installed" is written last: without it dir is rubble of an interrupted run.
func install(ctx context.Context, source, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return err
		}
	}
	args := []string{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}
	if major(ctx, "node") >= MinMajor {
		args = append(args, "--omit=optional") // the optional dependencies are Node.js itself
	}
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, bytes.TrimSpace(out))
	}
	return os.WriteFile(filepath.Join(dir, "installed"), nil, 0o644)
}

// findNode prefers the installed binary, which is pinned, over the one of the machine.
func findNode(ctx context.Context, dir string) (string, error) {
	goos := map[string]string{"windows": "win"}[runtime.GOOS]
	if goos == "" {
		goos = runtime.GOOS
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	for _, prefix := range []string{"node-", "node-bin-"} {
		path := filepath.Join(dir, "node_modules", prefix+goos+"-"+arch, "bin", "node")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("node")
	if err != nil {
		return "", fmt.Errorf("node.js %d or newer is needed: %w", MinMajor, err)
	}
	if major(ctx, path) < MinMajor {
		return "", errors.New("node.js " + strconv.Itoa(MinMajor) + " or newer is needed, and none is packaged for this platform")
	}
	return path, nil
}

// major returns the major version of a node binary, 0 when it cannot be run.
func major(ctx context.Context, node string) int {
	out, err := exec.CommandContext(ctx, node, "--version").Output()
	if err != nil {
		return 0
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	n, _ := strconv.Atoi(text)
	return n
}

func digest(paths ...string) (string, error) {
	h := sha256.New()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		h.Write(data)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}
