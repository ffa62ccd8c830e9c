package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mcpv/internal/frontmatter"
	"mcpv/internal/rawjson"
)

// ErrSkillChanged says that a file of a skill is not what the entry of the skill
// says it is, or not in it. What was read must not be used; GetSkill tells what
// the skill is now.
var ErrSkillChanged = errors.New("the skill is not what its entry says")

// Skills lists the skills of the server. No file is read: that is for when a
// skill is needed. An empty list does not prove that there are none.
func (c *Client) Skills(ctx context.Context) iter.Seq2[*Skill, error] {
	if err := c.hasSkills(); err != nil {
		return func(yield func(*Skill, error) bool) { yield(nil, err) }
	}
	return decoded[Skill](c.list(ctx, "skills/list", "skills"))
}

func (c *Client) hasSkills() error {
	if s := c.Server(); !s.Can("extensions", skillsExtensionID) {
		return fmt.Errorf("skills: %w", ErrUnsupported)
	}
	return nil
}

// GetSkill returns the entry of the skill whose SKILL.md has the URI.
func (c *Client) GetSkill(ctx context.Context, uri string) (*Skill, error) {
	if err := c.hasSkills(); err != nil {
		return nil, err
	}
	raw, err := c.Request(ctx, "skills/get", struct {
		URI string `json:"uri"`
	}{uri})
	if err != nil {
		return nil, err
	}
	s := &Skill{}
	if err := decode(rawjson.Get(raw, "skill"), s); err != nil {
		return nil, fmt.Errorf("skills/get: %w", err)
	}
	if s.URI != uri {
		return nil, fmt.Errorf("skills/get: asked for %s, the server answered %q", uri, s.URI)
	}
	return s, nil
}

// LoadSkill reads the SKILL.md of a skill and checks it against the entry: its
// size, its digest, and every field of its frontmatter. The digests come from
// the same server as the files: they prove that both agree, and no more.
func (c *Client) LoadSkill(ctx context.Context, s *Skill) ([]byte, error) {
	if err := s.sound(); err != nil {
		return nil, err
	}
	data, err := c.ReadSkillFile(ctx, s, s.URI)
	if err != nil {
		return nil, err
	}
	says, err := frontmatter.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSkillChanged, s.URI, err)
	}
	if !rawjson.Equal(says, s.Frontmatter) {
		return nil, fmt.Errorf("%w: %s: the frontmatter differs", ErrSkillChanged, s.URI)
	}
	return data, nil
}

// sound checks an entry by itself.
func (s *Skill) sound() error {
	dir, isSkill := strings.CutSuffix(s.URI, "/"+skillFile)
	total := int64(0)
	for _, f := range s.Files {
		if f.URI != s.URI && !strings.HasPrefix(f.URI, dir+"/") {
			return fmt.Errorf("skill %s lists %s, which is not in it", s.URI, f.URI)
		}
		if f.Size < 0 || f.Size > MaxSkillBytes {
			return fmt.Errorf("skill %s: %s has %d bytes", s.URI, f.URI, f.Size)
		}
		total += f.Size
	}
	switch {
	case !isSkill || dir[strings.LastIndexByte(dir, '/')+1:] != s.Name():
		return fmt.Errorf("skill %s is called %q", s.URI, s.Name())
	case len(s.Files) > MaxSkillFiles || total > MaxSkillBytes:
		return fmt.Errorf("skill %s is too large: %d files, %d bytes", s.URI, len(s.Files), total)
	}
	return nil
}

// ReadSkillFile reads a file of a skill and checks it against the entry. A file
// that the entry does not list is refused without asking, but for dynamic
// skills, whose files cannot be checked.
func (c *Client) ReadSkillFile(ctx context.Context, s *Skill, uri string) ([]byte, error) {
	at := slices.IndexFunc(s.Files, func(f SkillFile) bool { return f.URI == uri })
	dir := strings.TrimSuffix(s.URI, skillFile)
	if at < 0 && !s.Dynamic || s.Dynamic && !strings.HasPrefix(uri, dir) {
		return nil, fmt.Errorf("%w: %s is not in it", ErrSkillChanged, uri)
	}
	data, err := c.readWhole(ctx, uri)
	if err != nil || s.Dynamic {
		return data, err
	}
	switch f := s.Files[at]; {
	case int64(len(data)) != f.Size:
		return nil, fmt.Errorf("%w: %s has %d bytes instead of %d", ErrSkillChanged, uri, len(data), f.Size)
	case digest(data) != f.Digest:
		return nil, fmt.Errorf("%w: %s has another digest", ErrSkillChanged, uri)
	}
	return data, nil
}

// readWhole reads a resource that is one file.
func (c *Client) readWhole(ctx context.Context, uri string) ([]byte, error) {
	contents, err := c.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	if len(contents) != 1 {
		return nil, fmt.Errorf("%s: expected one file, got %d", uri, len(contents))
	}
	return contents[0].Bytes()
}

// ReadDirectory lists what is in a directory, as the server sees it now. It does
// not add to what the entry of a skill says is in it.
func (c *Client) ReadDirectory(ctx context.Context, uri string) ([]*Resource, error) {
	s := c.Server()
	if on, _ := rawjson.Bool(rawjson.Get(s.Capabilities, "extensions", skillsExtensionID, "directoryRead")); !on {
		return nil, fmt.Errorf("resources/directory/read: %w", ErrUnsupported)
	}
	var all []*Resource
	params := rawjson.Set(emptyObject, quote(uri), "uri")
	for range maxPages {
		raw, err := c.do(ctx, &call{method: "resources/directory/read", params: params})
		if err != nil {
			return nil, err
		}
		var page struct {
			Resources []*Resource `json:"resources"`
		}
		if err := decode(raw, &page); err != nil {
			return nil, fmt.Errorf("resources/directory/read: %w", err)
		}
		all = append(all, page.Resources...)
		next := rawjson.Get(raw, "nextCursor")
		if next == nil || string(next) == "null" {
			return all, nil
		}
		params = rawjson.Set(params, next, "cursor")
	}
	return nil, fmt.Errorf("resources/directory/read: %s does not end", uri)
}
