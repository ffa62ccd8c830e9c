package mcpv_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport says who may import what of this module; what is not listed is
// forbidden, and a package that is not listed has to be added here. A "*" is
// everything.
//
//	leaves ← jsonrpc ← revision ← mcp ← transports ← dial ← host ← cmd
var mayImport = map[string]string{
	".": "",

	"internal/eventstream": "",
	"internal/httpguard":   "",
	"internal/mcpheader":   "internal/rawjson",
	"internal/rawjson":     "",
	"internal/schema":      "internal/rawjson",
	"internal/uritemplate": "",
	"internal/frontmatter": "internal/rawjson",

	"jsonrpc":  "internal/rawjson",
	"revision": "internal/rawjson jsonrpc",
	"mcp":      "internal/frontmatter internal/mcpheader internal/rawjson internal/schema internal/uritemplate jsonrpc revision",

	"mcp/sse":        transport,
	"mcp/stdio":      transport,
	"mcp/streamable": transport,
	"mcp/websocket":  transport,

	"mcp/dial":    "mcp mcp/sse mcp/stdio mcp/streamable mcp/websocket revision",
	"mcp/host":    "mcp mcp/dial revision",
	"mcp/mcptest": "jsonrpc mcp revision",

	"internal/demo": "internal/httpguard jsonrpc mcp mcp/sse mcp/stdio mcp/streamable mcp/websocket revision",

	"cmd/mcpv":           "*",
	"conformance/client": "*",
	"conformance/nodejs": "",
	"conformance/report": "",
	"conformance/run":    "conformance/nodejs conformance/report",
	"conformance/server": "*",
}

const transport = "internal/eventstream internal/httpguard internal/mcpheader internal/rawjson jsonrpc mcp revision"

// maxLines is the length above which a file has more than one subject.
const maxLines = 600

// A source is one Go file of this module.
type source struct {
	dir  string // slash-separated, from the root; "." is the root
	path string
	test bool
	text []byte
	ast  *ast.File
}

var fileSet = token.NewFileSet()

// sources parses the Go files of this module, not those of the modules nested
// in it.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(p, d.Name())
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(fileSet, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		p = filepath.ToSlash(p)
		all = append(all, source{dir: path.Dir(p), path: p, test: strings.HasSuffix(p, "_test.go"), text: text, ast: parsed})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d Go files found", len(all))
	}
	return all
}

func skip(dir, name string) error {
	if dir == "." {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") {
		return fs.SkipDir
	}
	return nil
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		allowed, listed := mayImport[s.dir]
		if !listed {
			t.Errorf("%s: package %s is not in the table of arch_test.go", s.path, s.dir)
			continue
		}
		for _, spec := range s.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			ours, ok := strings.CutPrefix(name, "mcpv/")
			if ok && allowed != "*" && !slices.Contains(strings.Fields(allowed), ours) {
				t.Errorf("%s: %s may not import %s", s.path, s.dir, ours)
			}
		}
	}
}

func TestPackagesAreDocumentedAndNamed(t *testing.T) {
	documented, names := map[string]bool{}, map[string]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		documented[s.dir] = documented[s.dir] || s.ast.Doc != nil
		names[s.dir] = s.ast.Name.Name
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package %s has no comment", dir)
		}
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "types"}, names[dir]) {
			t.Errorf("package %s: a package is named after what it does", dir)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte("\n")); !s.test && n > maxLines {
			t.Errorf("%s has %d lines, more than %d", s.path, n, maxLines)
		}
	}
}

// maxPackage is the length in lines above which a package is to be cut, and
// larger holds the packages that may be larger, each with its ADR.
const maxPackage = 5000

var larger = map[string]int{
	"mcp": 10_000, // docs/adr/0008-mcp-is-one-package.md
}

func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	for _, s := range sources(t) {
		if !s.test {
			lines[s.dir] += bytes.Count(s.text, []byte("\n"))
		}
	}
	for dir, n := range lines {
		if limit := max(maxPackage, larger[dir]); n > limit {
			t.Errorf("package %s has %d lines, more than %d", dir, n, limit)
		}
	}
}

// date finds the name of a revision, not the reference time of package time.
var date = regexp.MustCompile(`20[1-9]\d-\d\d-\d\d`)

// Code asks what a revision can do, never when it was: only package revision
// spells their names. The conformance runner names them to the official suite.
func TestNoDatesOutsideRevision(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "revision" || strings.HasPrefix(s.dir, "conformance") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && date.MatchString(l.Value) {
				t.Errorf("%s: %s names a revision", fileSet.Position(l.Pos()), l.Value)
			}
			return true
		})
	}
}

// encoding/json matches names without regard to case, takes duplicates and
// turns numbers into floats. internal/schema compares Go types with those of
// encoding/json and feeds a validator that wants its numbers.
func TestNoLooseJSONOnTheWire(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.dir == "internal/schema" || strings.HasPrefix(s.dir, "conformance") {
			continue
		}
		for _, spec := range s.ast.Imports {
			if spec.Path.Value == `"encoding/json"` {
				t.Errorf("%s imports encoding/json", s.path)
			}
		}
	}
}

// Tests wait for what they wait for. In a synctest bubble a sleep is a step of
// virtual time: it is fine in functions that run one, directly or through
// others of their package.
func TestNoSleepInTests(t *testing.T) {
	funcs := map[string][]*ast.FuncDecl{} // of the tests of each directory
	for _, s := range sources(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test {
				funcs[s.dir] = append(funcs[s.dir], f)
			}
		}
	}
	for _, all := range funcs {
		bubbles := map[string]bool{}
		for n := -1; n != len(bubbles); { // until no more are found
			n = len(bubbles)
			for _, f := range all {
				if calls(f, func(c *ast.CallExpr) bool { return isCall(c, "synctest", "Test") || isBubble(c, bubbles) }) != nil {
					bubbles[f.Name.Name] = true
				}
			}
		}
		for _, f := range all {
			sleep := calls(f, func(c *ast.CallExpr) bool { return isCall(c, "time", "Sleep") })
			if sleep != nil && !bubbles[f.Name.Name] {
				t.Errorf("%s: time.Sleep outside of a synctest bubble", fileSet.Position(sleep.Pos()))
			}
		}
	}
}

// calls returns the first call in f of which is is true, or nil.
func calls(f *ast.FuncDecl, is func(*ast.CallExpr) bool) (found *ast.CallExpr) {
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && found == nil && is(c) {
			found = c
		}
		return found == nil
	})
	return found
}

func isBubble(c *ast.CallExpr, bubbles map[string]bool) bool {
	f, ok := c.Fun.(*ast.Ident)
	return ok && bubbles[f.Name]
}

func isCall(c *ast.CallExpr, pkg, name string) bool {
	s, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && s.Sel.Name == name
}

// Tests see what users see; only a file named export_… may open a package up to
// them.
func TestTestsAreExternal(t *testing.T) {
	for _, s := range sources(t) {
		if s.test && !strings.HasSuffix(s.ast.Name.Name, "_test") && !strings.HasPrefix(path.Base(s.path), "export_") {
			t.Errorf("%s: package %s, want %s_test", s.path, s.ast.Name.Name, s.ast.Name.Name)
		}
	}
}
