package mcpv_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"mcpv/revision"
)

// A block is a fenced block of the README.
type block struct {
	language string
	line     int
	text     string
}

// blocks returns the fenced blocks of a Markdown text.
func blocks(t *testing.T, text string) []block {
	t.Helper()
	var all []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &block{language: language, line: i + 1}
		case fence:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("README.md:%d: the block is not closed", open.line)
	}
	return all
}

// TestReadme runs every block of the README, in order, in one directory:
//
//   - go blocks are files, named by the comment in their first line, of a
//     module that uses this one;
//   - console blocks are commands after "$ " and what they print, where "…"
//     stands for anything. "make run" starts the demo; other targets of make
//     are only looked at, since this test is part of them.
func TestReadme(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the README speaks to a POSIX shell")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("the README uses curl, and CI has to run all of it: ", err)
		}
		t.Skip("the README uses curl: ", err)
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var script, files strings.Builder
	commands, programs := 0, 0
	for _, b := range blocks(t, string(text)) {
		switch b.language {
		case "console":
			commands += addCommands(t, b, &script, &files)
		case "go":
			name, ok := strings.CutPrefix(strings.SplitN(b.text, "\n", 2)[0], "// ")
			if !ok {
				t.Errorf("README.md:%d: the first line has to name the file", b.line)
			}
			fmt.Fprintf(&files, "-- %s --\n%s", name, b.text)
			programs++
		case "text":
		default:
			t.Errorf("README.md:%d: no way to test a block of %q", b.line, b.language)
		}
	}
	if commands < 5 || programs < 2 {
		t.Errorf("only %d commands and %d programs", commands, programs)
	}
	dir := t.TempDir()
	whole := script.String() + "\n" + files.String() + goMod(t)
	if err := os.WriteFile(filepath.Join(dir, "readme.txtar"), []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, scriptParams(t, dir))
}

// addCommands turns a console block into lines of a script and the files these
// need, and returns how many commands there are.
func addCommands(t *testing.T, b block, script, files *strings.Builder) int {
	t.Helper()
	n := 0
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); {
		command, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			t.Fatalf("README.md:%d: want a command, got %q", b.line+1+i, lines[i])
		}
		for i++; strings.HasSuffix(command, "\\") && i < len(lines); i++ {
			command += "\n" + lines[i]
		}
		want := ""
		for ; i < len(lines) && !strings.HasPrefix(lines[i], "$ "); i++ {
			want += lines[i] + "\n"
		}
		n++
		id := fmt.Sprintf("%d-%d", b.line, n)
		command = strings.ReplaceAll(command, "127.0.0.1:7717", "$ADDR")
		switch target, isMake := strings.CutPrefix(command, "make "); {
		case command == "make run":
			fmt.Fprintf(script, "exec make -n -C $ROOT run\nserve --http\n")
		case isMake:
			target, _, _ = strings.Cut(target, "#")
			fmt.Fprintf(script, "exec make -n -C $ROOT %s\n", strings.TrimSpace(target))
		default:
			fmt.Fprintf(script, "exec sh %s.sh\nlike %s.txt\n", id, id)
			fmt.Fprintf(files, "-- %s.sh --\n%s\n-- %s.txt --\n%s", id, command, id, want)
		}
	}
	return n
}

// goMod returns go.mod and go.sum of a module that uses this one.
func goMod(t *testing.T) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	mine := strings.Replace(string(mod), "module mcpv", "module readme", 1)
	return fmt.Sprintf("-- go.mod --\n%s\nrequire mcpv v0.0.0\nreplace mcpv => %s\n-- go.sum --\n%s", mine, root, sum)
}

// The table of the README is that of package revision.
func TestReadmeMatrix(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- matrix: begin -->\n")
	got, _, ok := strings.Cut(rest, "<!-- matrix: end -->")
	if want := matrix(); !ok || got != want {
		t.Errorf("the table of README.md has to be\n%s", want)
	}
}

func matrix() string {
	rows := []struct {
		name string
		has  func(r *revision.Revision) bool
	}{
		{"handshake (`initialize`)", func(r *revision.Revision) bool { return r.Rules.Handshake }},
		{"stateless (`server/discover`)", func(r *revision.Revision) bool { return r.Rules.Discover }},
		{"batches", func(r *revision.Revision) bool { return r.Rules.Batching }},
		{"`Content-Length` on stdio", func(r *revision.Revision) bool { return r.Rules.ContentLength }},
		{"HTTP+SSE, by the specification", func(r *revision.Revision) bool { return r.Rules.EndpointEvent }},
		{"Streamable HTTP, by the specification", func(r *revision.Revision) bool { return r.Rules.Streamable }},
		{"HTTP sessions, resumption", func(r *revision.Revision) bool { return r.Rules.Sessions && r.Rules.Resumable }},
		{"pagination", func(r *revision.Revision) bool { return r.Rules.Pagination }},
		{"prompts, completion", both("prompts/get", "completion/complete")},
		{"cancellation, progress", both("notifications/cancelled", "notifications/progress")},
		{"log messages", both("notifications/message", "notifications/message")},
		{"structured results", func(r *revision.Revision) bool { return r.Rules.StructuredContent }},
		{"audio, tool annotations", func(r *revision.Revision) bool { return r.Rules.Audio && r.Rules.ToolAnnotations }},
		{"resource links, titles", func(r *revision.Revision) bool { return r.Rules.ResourceLinks && r.Rules.Titles }},
		{"icons", func(r *revision.Revision) bool { return r.Rules.Icons }},
		{"sampling, roots", func(r *revision.Revision) bool { return r.Rules.ServerRequests || r.Rules.InputRequired }},
		{"sampling with tools", func(r *revision.Revision) bool { return r.Rules.SamplingTools }},
		{"elicitation, form", func(r *revision.Revision) bool { return r.Rules.Elicitation }},
		{"elicitation, URL", func(r *revision.Revision) bool { return r.Rules.URLElicitation }},
		{"subscriptions by `subscribe`", func(r *revision.Revision) bool { return r.Rules.Subscribe }},
		{"subscriptions by `listen`", func(r *revision.Revision) bool { return r.Rules.Listen }},
		{"tasks, core", func(r *revision.Revision) bool { return r.Rules.CoreTasks }},
		{"tasks, extension", func(r *revision.Revision) bool { return r.Rules.TasksExtension }},
		{"caching hints", func(r *revision.Revision) bool { return r.Rules.CacheHints }},
	}
	all := revision.All()
	slices.Reverse(all)
	var b strings.Builder
	b.WriteString("|")
	for _, r := range all {
		b.WriteString(" | " + r.Name)
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---", len(all)) + "|\n")
	for _, row := range rows {
		b.WriteString("| " + row.name)
		for _, r := range all {
			mark := "–"
			if row.has(r) {
				mark = "✓"
			}
			b.WriteString(" | " + mark)
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func both(a, b string) func(r *revision.Revision) bool {
	return func(r *revision.Revision) bool {
		_, first := r.Method(a)
		_, second := r.Method(b)
		return first && second
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

// Links between the documents lead somewhere.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"docs/*.md", "docs/adr/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(files) < 8 {
		t.Errorf("only %d documents", len(files))
	}
}

// Everything a fresh machine needs is behind the targets that the README names.
func TestMakeTargets(t *testing.T) {
	for _, target := range []string{"run", "test", "lint", "fuzz", "conformance", "bench", "help"} {
		if out, err := exec.Command("make", "-n", target).CombinedOutput(); err != nil {
			t.Errorf("make %s: %v\n%s", target, err, out)
		}
	}
	ci, err := os.ReadFile(".ci/run")
	if err != nil || !strings.Contains(string(ci), "make test") {
		t.Errorf(".ci/run does not run make test: %v", err)
	}
}
