package mcp

// placeholder while skills are being written

const skillsExtensionID = "io.modelcontextprotocol/skills"

type skillSet struct{}

func (*skillSet) settings() JSON                         { return emptyObject }
func (*skillSet) handler(uri string) ResourceHandler     { return nil }
