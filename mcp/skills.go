package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mcpv/internal/frontmatter"
	"mcpv/internal/rawjson"
	"mcpv/jsonrpc"
)

// The skills extension (SEP-2640): directories of instructions for a model,
// served as resources, with a manifest of their files by digest.
const skillsExtensionID = "io.modelcontextprotocol/skills"

const (
	skillScheme   = "skill://"
	skillFile     = "SKILL.md"
	directoryType = "inode/directory"
)

// What every host has to accept of one skill, and so what a server may serve.
const (
	MaxSkillFiles = 512
	MaxSkillBytes = 16 << 20
)

// A Skill is the entry of a skill: what it says of itself, and all its files.
type Skill struct {
	URI         string      `json:"uri"`         // of its SKILL.md
	Frontmatter JSON        `json:"frontmatter"` // of its SKILL.md, an object
	Files       []SkillFile `json:"-"`           // all of them, SKILL.md too; nil when dynamic
	Dynamic     bool        `json:"-"`           // the files are made on demand and cannot be verified
}

// A SkillFile is a file of a skill.
type SkillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // "sha256:" and the hash of its bytes in lower-case hex
	Size   int64  `json:"size"`   // bytes
}

// Name returns the name in the frontmatter. It is a label: two skills may share
// it.
func (s *Skill) Name() string { return s.field("name") }

// Description returns the description in the frontmatter.
func (s *Skill) Description() string { return s.field("description") }

func (s *Skill) field(name string) string {
	v, _ := rawjson.String(rawjson.Get(s.Frontmatter, name))
	return v
}

type rawSkill struct {
	URI         string `json:"uri"`
	Frontmatter JSON   `json:"frontmatter"`
	Resources   JSON   `json:"resources"`
}

// MarshalJSON writes the entry.
func (s Skill) MarshalJSON() ([]byte, error) {
	w := rawSkill{s.URI, s.Frontmatter, JSON(`"dynamic"`)}
	if !s.Dynamic {
		w.Resources = encode(s.Files)
	}
	return encode(w), nil
}

// UnmarshalJSON reads an entry. One that lists no files and is not dynamic is
// not valid.
func (s *Skill) UnmarshalJSON(raw []byte) error {
	var w rawSkill
	if err := decode(raw, &w); err != nil {
		return err
	}
	*s = Skill{URI: w.URI, Frontmatter: w.Frontmatter}
	if rawjson.KindOf(w.Frontmatter) != '{' {
		return errors.New("skill without frontmatter")
	}
	if kind, _ := rawjson.String(w.Resources); kind == "dynamic" {
		s.Dynamic = true
		return nil
	}
	if rawjson.KindOf(w.Resources) != '[' {
		return errors.New("skill without resources")
	}
	return decode(w.Resources, &s.Files)
}

// A skillSet is the skills of a server. The server's lock guards it.
type skillSet struct {
	list  *registry[*servedSkill]
	files map[string]*servedFile // by URI
	dirs  map[string][]Resource  // direct children by URI of the directory, by name
}

type servedSkill struct {
	Skill
	dir   string // its URI
	files map[string]*servedFile
}

type servedFile struct {
	name     string
	mimeType string
	data     []byte
}

func (*skillSet) settings() JSON { return JSON(`{"directoryRead":true}`) }

// AddSkill serves the skill in files under skill://at/, or replaces the one
// there. at is a path such as "acme/billing/refunds" whose last part is the
// skill's name. All files are read now, into memory: what is served always is
// what the digests say. Only regular files are taken; others are an error, and
// so is a skill with more than MaxSkillFiles or MaxSkillBytes.
func (s *Server) AddSkill(at string, files fs.FS) error {
	k, err := readSkill(at, files)
	if err != nil {
		return fmt.Errorf("skill %s: %w", at, err)
	}
	s.mu.Lock()
	if s.skills == nil {
		s.skills = &skillSet{list: newRegistry[*servedSkill]("skills/list", "skills")}
	}
	err = s.skills.put(k)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("skill %s: %w", at, err)
	}
	main := k.files[k.URI]
	s.AddResource(&Resource{
		URI: k.URI, Name: k.Name(), Description: k.Description(), MIMEType: main.mimeType, Size: new(int64(len(main.data))),
	}, main.read)
	return nil
}

// AddSkillDir is AddSkill for a directory of the file system. Nothing outside of
// it is read, whatever links there are in it.
func (s *Server) AddSkillDir(at, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("skill %s: %w", at, err)
	}
	defer root.Close()
	return s.AddSkill(at, root.FS())
}

// RemoveSkill removes the skill whose SKILL.md has the URI, and reports whether
// it was there.
func (s *Server) RemoveSkill(uri string) bool {
	s.mu.Lock()
	had := s.skills != nil && s.skills.list.remove(uri)
	if had {
		s.skills.index()
	}
	s.mu.Unlock()
	return had && s.RemoveResource(uri)
}

// readSkill reads and checks a skill.
func readSkill(at string, files fs.FS) (*servedSkill, error) {
	if !fs.ValidPath(at) || at == "." {
		return nil, errors.New("the path is not valid")
	}
	dir := skillScheme + escapePath(at)
	k := &servedSkill{Skill: Skill{URI: dir + "/" + skillFile}, dir: dir, files: map[string]*servedFile{}}
	total := int64(0)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := readRegular(files, name, d, MaxSkillBytes-total)
		if err != nil {
			return err
		}
		if total += int64(len(data)); len(k.files) >= MaxSkillFiles {
			return fmt.Errorf("more than %d files", MaxSkillFiles)
		}
		k.add(name, data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	main := k.files[k.URI]
	if main == nil {
		return nil, errors.New("there is no " + skillFile)
	}
	if k.Frontmatter, err = frontmatter.Parse(main.data); err != nil {
		return nil, fmt.Errorf("%s: %w", skillFile, err)
	}
	return k, k.check(path.Base(at))
}

// readRegular reads a file of at most limit bytes.
func readRegular(files fs.FS, name string, d fs.DirEntry, limit int64) ([]byte, error) {
	if !d.Type().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("more than %d bytes", MaxSkillBytes)
	}
	data, err := fs.ReadFile(files, name)
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes", MaxSkillBytes)
	}
	return data, err
}

func (k *servedSkill) add(name string, data []byte) {
	uri := k.dir + "/" + escapePath(name)
	k.files[uri] = &servedFile{name: path.Base(name), mimeType: fileType(name, data), data: data}
	k.Files = append(k.Files, SkillFile{URI: uri, Digest: digest(data), Size: int64(len(data))})
}

// digest is how the extension writes the hash of a file.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// check holds the frontmatter against the rules for names.
func (k *servedSkill) check(last string) error {
	name := k.Name()
	switch {
	case !validSkillName(name):
		return fmt.Errorf("the name %q has to be 1 to 64 of a-z, 0-9 and single hyphens between them", name)
	case name != last:
		return fmt.Errorf("the name %q is not the last part of the path", name)
	case k.Description() == "":
		return errors.New("the description is missing")
	}
	return nil
}

func validSkillName(name string) bool {
	if name == "" || len(name) > 64 || name[0] == '-' || name[len(name)-1] == '-' || strings.Contains(name, "--") {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

func escapePath(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

func fileType(name string, data []byte) string {
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == ".md":
		return "text/markdown"
	case mime.TypeByExtension(ext) != "":
		kind, _, _ := strings.Cut(mime.TypeByExtension(ext), ";")
		return kind
	case utf8.Valid(data):
		return "text/plain"
	}
	return "application/octet-stream"
}

// read serves the file as a resource.
func (f *servedFile) read(_ context.Context, r *ResourceRequest) ([]ResourceContents, error) {
	if utf8.Valid(f.data) {
		return []ResourceContents{TextContents(r.URI, f.mimeType, string(f.data))}, nil
	}
	return []ResourceContents{BlobContents(r.URI, f.mimeType, f.data)}, nil
}

// put adds a skill. A file that is part of two skills, because one is nested in
// the other, has to be the same in both.
func (t *skillSet) put(k *servedSkill) error {
	for _, e := range t.list.items {
		if e.name == k.URI {
			continue
		}
		for uri, f := range e.item.files {
			if mine, ok := k.files[uri]; ok && !bytes.Equal(mine.data, f.data) {
				return fmt.Errorf("%s is another file in %s", uri, e.name)
			}
		}
	}
	t.list.add(k.URI, k, encode(k.Skill))
	t.index()
	return nil
}

// index makes the tables that reads are answered from.
func (t *skillSet) index() {
	t.files, t.dirs = map[string]*servedFile{}, map[string][]Resource{}
	for _, e := range t.list.items {
		for uri, f := range e.item.files {
			t.files[uri] = f
			t.enter(e.item.dir, Resource{URI: uri, Name: f.name, MIMEType: f.mimeType, Size: new(int64(len(f.data)))})
		}
	}
	for _, children := range t.dirs {
		slices.SortFunc(children, func(a, b Resource) int { return strings.Compare(a.URI, b.URI) })
	}
}

// enter puts a child into its directory, and that into its own, up to the root
// of the skill.
func (t *skillSet) enter(root string, child Resource) {
	dir := path.Dir(strings.TrimPrefix(child.URI, skillScheme))
	uri := skillScheme + dir
	known := slices.ContainsFunc(t.dirs[uri], func(r Resource) bool { return r.URI == child.URI })
	if !known {
		t.dirs[uri] = append(t.dirs[uri], child)
	}
	if uri != root {
		name, _ := url.PathUnescape(path.Base(dir))
		t.enter(root, Resource{URI: uri, Name: name, MIMEType: directoryType})
	}
}

// find returns the handler for a file of a skill that the caller may see. The
// server's lock is held.
func (t *skillSet) find(ctx context.Context, s *Server, r *ResourceRequest) ResourceHandler {
	if f := t.files[r.URI]; f != nil && t.visibleLocked(ctx, s, r.Exchange, r.URI) {
		return f.read
	}
	return nil
}

// serveSkills serves the methods of the extension.
func (s *Server) serveSkills(ctx context.Context, x *Exchange) (*jsonrpc.Message, error) {
	s.mu.RLock()
	t := s.skills
	s.mu.RUnlock()
	if t == nil {
		return nil, methodNotFound(x.Request.Method())
	}
	if x.Request.Method() == "skills/list" {
		return list(ctx, s, x, t.list, "resource")
	}
	uri, ok := rawjson.String(rawjson.Get(x.Request.Params(), "uri"))
	if !ok {
		return nil, invalidParams("uri must be a string")
	}
	if x.Request.Method() == "skills/get" {
		return s.getSkill(ctx, x, t, uri)
	}
	return s.readDirectory(ctx, x, t, uri)
}

func (s *Server) getSkill(ctx context.Context, x *Exchange, t *skillSet, uri string) (*jsonrpc.Message, error) {
	k, ok := lookup(s, t.list, uri)
	if !ok || !s.visible(ctx, x, "resource", uri) {
		return nil, invalidParams("no skill is served at %s", uri)
	}
	b := append([]byte(`{"skill":`), encode(k.Skill)...)
	if x.Session.Revision.Rules.CacheHints {
		b = append(b, s.cacheHints()...)
	}
	return s.finish(x, append(b, '}'))
}

func (s *Server) readDirectory(ctx context.Context, x *Exchange, t *skillSet, uri string) (*jsonrpc.Message, error) {
	after := 0
	if cursor := rawjson.Get(x.Request.Params(), "cursor"); cursor != nil {
		var ok bool
		if after, ok = parseCursor(cursor); !ok {
			return nil, invalidParams("cursor is not one of this server's")
		}
	}
	s.mu.RLock()
	var shown []Resource
	children, ok := t.dirs[uri]
	for _, c := range children {
		if t.visibleLocked(ctx, s, x, c.URI) {
			shown = append(shown, c)
		}
	}
	s.mu.RUnlock()
	if !ok || len(shown) == 0 { // directories are never empty
		return nil, invalidParams("%s is not a directory", uri)
	}
	shown = shown[min(after, len(shown)):]
	more := len(shown) > s.opts.PageSize
	if more {
		shown = shown[:s.opts.PageSize]
	}
	b := append([]byte(`{"resources":`), encode(append([]Resource{}, shown...))...)
	if more {
		b = append(append(b, `,"nextCursor":`...), quote(formatCursor(after+len(shown)))...)
	}
	return s.finish(x, append(b, '}'))
}

// visibleLocked reports whether the caller may see a file, or something in a
// directory: a skill that has it.
func (t *skillSet) visibleLocked(ctx context.Context, s *Server, x *Exchange, uri string) bool {
	if s.opts.Visible == nil {
		return true
	}
	for _, e := range t.list.items {
		if e.item.has(uri) && s.visible(ctx, x, "resource", e.name) {
			return true
		}
	}
	return false
}

// has reports whether a file, or a directory that is not empty, is in the skill.
func (k *servedSkill) has(uri string) bool {
	if _, ok := k.files[uri]; ok {
		return true
	}
	for file := range k.files {
		if strings.HasPrefix(file, uri+"/") {
			return true
		}
	}
	return false
}
