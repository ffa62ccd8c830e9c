//go:build unix

package nodejs_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcpv/conformance/nodejs"
)

// standIn puts an npm and a node on PATH that record how often npm ran.
func standIn(t *testing.T, nodeVersion string) (runs string) {
	t.Helper()
	bin := t.TempDir()
	runs = filepath.Join(bin, "runs")
	write(t, filepath.Join(bin, "npm"), "#!/bin/sh\necho \"$@\" >> "+runs+"\nmkdir -p node_modules/some/dist\n")
	write(t, filepath.Join(bin, "node"), "#!/bin/sh\necho "+nodeVersion+"\n")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return runs
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func source(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "package.json"), "{}")
	write(t, filepath.Join(dir, "package-lock.json"), "{}")
	return dir
}

func count(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func TestInstallOncePerLock(t *testing.T) {
	runs := standIn(t, "v24.1.0")
	dir, cache := source(t), t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			env, err := nodejs.Install(t.Context(), dir, cache)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(env.Script("some", "dist")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, runs); n != 1 {
		t.Errorf("npm ran %d times for one lock", n)
	}
	write(t, filepath.Join(dir, "package-lock.json"), `{"changed":true}`)
	if _, err := nodejs.Install(t.Context(), dir, cache); err != nil {
		t.Fatal(err)
	}
	if n := count(t, runs); n != 2 {
		t.Errorf("npm ran %d times for two locks", n)
	}
}

func TestInstallAgainAfterInterruption(t *testing.T) {
	runs := standIn(t, "v22.0.0")
	dir, cache := source(t), t.TempDir()
	env, err := nodejs.Install(t.Context(), dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(env.Dir, "installed")); err != nil {
		t.Fatal(err)
	}
	if _, err := nodejs.Install(t.Context(), dir, cache); err != nil {
		t.Fatal(err)
	}
	if n := count(t, runs); n != 2 {
		t.Errorf("npm ran %d times, want again after an interruption", n)
	}
}

func TestOldNodeIsRefused(t *testing.T) {
	standIn(t, "v20.20.2")
	if _, err := nodejs.Install(t.Context(), source(t), t.TempDir()); err == nil || !strings.Contains(err.Error(), "22 or newer") {
		t.Errorf("error %v, want one that names the version needed", err)
	}
}
