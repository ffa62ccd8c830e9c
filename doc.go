// Package mcpv is the root of a library and a program that speak every revision
// of the Model Context Protocol over every transport. It holds no code: package
// mcp is where to begin, jsonrpc and revision are what it stands on, and
// cmd/mcpv is the program. The tests here are those of the repository as a
// whole: its architecture, its README and its commands.
package mcpv
