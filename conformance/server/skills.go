package main

import (
	"embed"
	"io/fs"

	"mcpv/mcp"
)

//go:embed skills
var skillFiles embed.FS

func addSkills(s *mcp.Server) {
	files, err := fs.Sub(skillFiles, "skills/pdf-processing")
	must(err)
	must(s.AddSkill("pdf-processing", files))
}
