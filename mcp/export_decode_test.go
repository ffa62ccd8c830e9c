package mcp

// What is tested against decode.
var (
	DecodeTool       = decodeTool
	DecodeToolResult = decodeToolResult
)
