package mcp_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
	"mcpv/mcp"
	"mcpv/revision"
)

const pdfSkill = "---\nname: pdf-processing\ndescription: Extract, fill, and assemble PDF documents\nmetadata:\n  version: \"2.1\"\n---\n\n# PDF\n\nSee [forms](references/FORMS.md).\n"

func skillFiles() fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":              {Data: []byte(pdfSkill)},
		"references/FORMS.md":   {Data: []byte("Fill them in.\r\n")},
		"assets/a b?.bin":       {Data: []byte{0, 0xff, 0xfe}},
		"assets/deep/notes.txt": {Data: []byte("ü")},
	}
}

func skillServer(t *testing.T, o *mcp.ServerOptions) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(mcp.Implementation{Name: "skills", Version: "1"}, o)
	if err := s.AddSkill("pdf-processing", skillFiles()); err != nil {
		t.Fatal(err)
	}
	return s
}

const pdfURI = "skill://pdf-processing/SKILL.md"

func TestSkillsInEveryRevision(t *testing.T) {
	for _, r := range revision.All() {
		if r == revision.Classic || r.Rules.ResourceNotFound == 0 && !r.Rules.Handshake {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			c := connect(t, skillServer(t, nil), &mcp.ClientOptions{Revision: r})
			skills, err := mcp.Collect(c.Skills(t.Context()))
			if err != nil || len(skills) != 1 {
				t.Fatalf("skills %v, %v", skills, err)
			}
			k := skills[0]
			if k.URI != pdfURI || k.Name() != "pdf-processing" || k.Description() == "" || k.Dynamic || len(k.Files) != 4 {
				t.Errorf("skill %+v", k)
			}
			one, err := c.GetSkill(t.Context(), pdfURI)
			if err != nil || !rawjson.Equal(one.Frontmatter, k.Frontmatter) || !slices.Equal(one.Files, k.Files) {
				t.Errorf("get %+v, %v", one, err)
			}
			text, err := c.LoadSkill(t.Context(), k)
			if err != nil || string(text) != pdfSkill {
				t.Errorf("load %q, %v", text, err)
			}
			for name, f := range skillFiles() {
				uri := "skill://pdf-processing/" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "%20"), "?", "%3F")
				got, err := c.ReadSkillFile(t.Context(), k, uri)
				if err != nil || !bytes.Equal(got, f.Data) {
					t.Errorf("%s: %q, %v", uri, got, err)
				}
			}
		})
	}
}

func TestSkillWire(t *testing.T) {
	c := connect(t, skillServer(t, &mcp.ServerOptions{PageSize: 2}), &mcp.ClientOptions{Revision: revision.V2026_07_28})
	info := c.Server()
	if got := rawjson.Get(info.Capabilities, "extensions", "io.modelcontextprotocol/skills"); string(got) != `{"directoryRead":true}` {
		t.Errorf("settings %s", got)
	}
	if !info.Can("resources") {
		t.Errorf("capabilities %s", info.Capabilities)
	}
	raw, err := c.Request(t.Context(), "skills/list", nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(pdfSkill))
	entry := `{"uri":"` + pdfURI + `","frontmatter":{"name":"pdf-processing","description":"Extract, fill, and assemble PDF documents","metadata":{"version":"2.1"}},
		"resources":[{"uri":"` + pdfURI + `","digest":"` + fmt.Sprintf("sha256:%x", sum) + `","size":` + fmt.Sprint(len(pdfSkill)) + `},"*","*","*"]}`
	wantShape(t, raw, `{"skills":[`+entry+`],"ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":"*"}`)
	raw, err = c.Request(t.Context(), "skills/get", map[string]string{"uri": pdfURI})
	if err != nil {
		t.Fatal(err)
	}
	wantShape(t, raw, `{"skill":`+entry+`,"ttlMs":0,"cacheScope":"private","resultType":"complete","_meta":"*"}`)
	_, err = c.GetSkill(t.Context(), "skill://none/SKILL.md")
	wantCode(t, "unknown skill", err, jsonrpc.CodeInvalidParams)
	_, err = c.ReadResource(t.Context(), "skill://pdf-processing/none.md")
	wantCode(t, "unknown file", err, jsonrpc.CodeInvalidParams)
	resources, err := mcp.Collect(c.Resources(t.Context()))
	if err != nil || len(resources) != 1 {
		t.Fatalf("resources %v, %v", resources, err)
	}
	if r := resources[0]; r.URI != pdfURI || r.Name != "pdf-processing" || r.Description == "" || r.MIMEType != "text/markdown" || *r.Size != int64(len(pdfSkill)) {
		t.Errorf("resource %+v", r)
	}
}

func TestSkillDirectories(t *testing.T) {
	c := connect(t, skillServer(t, &mcp.ServerOptions{PageSize: 2}), nil)
	for dir, want := range map[string][]string{
		"skill://pdf-processing":             {"SKILL.md text/markdown", "assets inode/directory", "references inode/directory"},
		"skill://pdf-processing/assets":      {"a b?.bin application/octet-stream", "deep inode/directory"},
		"skill://pdf-processing/assets/deep": {"notes.txt text/plain"},
	} {
		children, err := c.ReadDirectory(t.Context(), dir)
		if err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		var got []string
		for _, r := range children {
			got = append(got, r.Name+" "+r.MIMEType)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
	}
	for _, uri := range []string{pdfURI, "skill://pdf-processing/", "skill://none", "skill://", ""} {
		_, err := c.ReadDirectory(t.Context(), uri)
		wantCode(t, uri, err, jsonrpc.CodeInvalidParams)
	}
}

func TestSkillsThatCannotBe(t *testing.T) {
	file := func(text string) fstest.MapFS { return fstest.MapFS{"SKILL.md": {Data: []byte(text)}} }
	many := skillFiles()
	for i := range mcp.MaxSkillFiles {
		many[fmt.Sprintf("f%d", i)] = &fstest.MapFile{}
	}
	big := skillFiles()
	big["big"] = &fstest.MapFile{Data: make([]byte, mcp.MaxSkillBytes)}
	link := skillFiles()
	link["link"] = &fstest.MapFile{Mode: os.ModeSymlink, Data: []byte("/etc/passwd")}
	for what, tc := range map[string]struct {
		at    string
		files fstest.MapFS
	}{
		"no SKILL.md":       {"x", fstest.MapFS{"a": {}}},
		"no frontmatter":    {"x", file("hello")},
		"no description":    {"x", file("---\nname: x\n---\n")},
		"another name":      {"y", file("---\nname: x\ndescription: d\n---\n")},
		"an invalid name":   {"x--y", file("---\nname: x--y\ndescription: d\n---\n")},
		"an upper-case one": {"X", file("---\nname: X\ndescription: d\n---\n")},
		"a path upwards":    {"../pdf-processing", skillFiles()},
		"too many files":    {"pdf-processing", many},
		"too many bytes":    {"pdf-processing", big},
		"a link":            {"pdf-processing", link},
	} {
		s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
		if err := s.AddSkill(tc.at, tc.files); err == nil {
			t.Errorf("%s was taken", what)
		}
	}
}

func TestSkillDirStaysInside(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(outside, []byte("secret"), 0o600), os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(pdfSkill), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	if err := s.AddSkillDir("team/pdf-processing", dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege there: ", err)
		}
		t.Fatal(err)
	}
	if err := s.AddSkillDir("team/pdf-processing", dir); err == nil {
		t.Error("a link was followed")
	}
	c := connect(t, s, nil)
	k, err := c.GetSkill(t.Context(), "skill://team/pdf-processing/SKILL.md")
	if err != nil || len(k.Files) != 1 {
		t.Errorf("got %+v, %v", k, err)
	}
	if !s.RemoveSkill(k.URI) || s.RemoveSkill(k.URI) {
		t.Error("remove")
	}
	if _, err := c.LoadSkill(t.Context(), k); err == nil {
		t.Error("a removed skill was read")
	}
}

func TestNestedSkills(t *testing.T) {
	outer := skillFiles()
	inner := "---\nname: deep\ndescription: d\n---\n"
	outer["deep/SKILL.md"] = &fstest.MapFile{Data: []byte(inner)}
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	if err := s.AddSkill("pdf-processing", outer); err != nil {
		t.Fatal(err)
	}
	if err := s.AddSkill("pdf-processing/deep", fstest.MapFS{"SKILL.md": {Data: []byte(inner + "other\n")}}); err == nil {
		t.Error("one URI stands for two files")
	}
	if err := s.AddSkill("pdf-processing/deep", fstest.MapFS{"SKILL.md": {Data: []byte(inner)}}); err != nil {
		t.Error(err)
	}
}

func TestHiddenSkills(t *testing.T) {
	s := skillServer(t, &mcp.ServerOptions{Visible: func(_ context.Context, s *mcp.Session, kind, name string) bool {
		return s.Principal != nil
	}})
	c := connect(t, s, nil)
	if skills, err := mcp.Collect(c.Skills(t.Context())); err != nil || len(skills) != 0 {
		t.Errorf("skills %v, %v", skills, err)
	}
	_, err := c.GetSkill(t.Context(), pdfURI)
	wantCode(t, "get", err, jsonrpc.CodeInvalidParams)
	_, err = c.ReadResource(t.Context(), "skill://pdf-processing/references/FORMS.md")
	wantCode(t, "read", err, jsonrpc.CodeInvalidParams)
	_, err = c.ReadDirectory(t.Context(), "skill://pdf-processing")
	wantCode(t, "directory", err, jsonrpc.CodeInvalidParams)
	ann := connectAs(t, s, &mcp.Principal{Subject: "ann"}, nil)
	if _, err := ann.ReadResource(t.Context(), "skill://pdf-processing/references/FORMS.md"); err != nil {
		t.Error(err)
	}
	if _, err := ann.ReadDirectory(t.Context(), "skill://pdf-processing"); err != nil {
		t.Error(err)
	}
}

// A host must not use what differs from the entry it holds.
func TestSkillVerification(t *testing.T) {
	s := skillServer(t, nil)
	c := connect(t, s, &mcp.ClientOptions{NoCache: true})
	k, err := c.GetSkill(t.Context(), pdfURI)
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]string{
		"digest":      strings.Replace(pdfSkill, "# PDF", "# FDP", 1),
		"size":        pdfSkill + "more\n",
		"frontmatter": strings.Replace(pdfSkill, "Extract", "extract", 1),
	} {
		files := skillFiles()
		files["SKILL.md"].Data = []byte(change)
		if err := s.AddSkill("pdf-processing", files); err != nil {
			t.Fatal(err)
		}
		held := *k
		if what == "frontmatter" { // its digest is right: only the comparison finds it
			now, err := c.GetSkill(t.Context(), pdfURI)
			if err != nil {
				t.Fatal(err)
			}
			held.Files = now.Files
		}
		if text, err := c.LoadSkill(t.Context(), &held); !errors.Is(err, mcp.ErrSkillChanged) || text != nil {
			t.Errorf("%s: %q, %v", what, text, err)
		}
	}
	if _, err := c.ReadSkillFile(t.Context(), k, "skill://pdf-processing/new.md"); !errors.Is(err, mcp.ErrSkillChanged) {
		t.Errorf("a file that is not listed: %v", err)
	}
	stray := *k
	stray.Files = append(slices.Clone(k.Files), mcp.SkillFile{URI: "skill://other/x"})
	if _, err := c.LoadSkill(t.Context(), &stray); err == nil {
		t.Error("an entry with a file of another skill was loaded")
	}
}

func TestNoSkills(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, nil)
	c := connect(t, s, nil)
	if _, err := mcp.Collect(c.Skills(t.Context())); !errors.Is(err, mcp.ErrUnsupported) {
		t.Errorf("skills: %v", err)
	}
	_, err := c.Request(t.Context(), "skills/list", nil)
	wantCode(t, "skills/list", err, jsonrpc.CodeMethodNotFound)
}
