// Command mcpv speaks every revision of the Model Context Protocol over every
// transport.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(context.Background(), newRoot(), os.Args[1:]))
}

// The exit codes of every verb.
const (
	exitOK         = 0
	exitUnexpected = 1
	exitUsage      = 2
)

// A failure is an error that can say what to do about it.
type failure struct {
	err  error
	try  string // a command or an advice; may be empty
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usage(try string, format string, args ...any) error {
	return &failure{err: fmt.Errorf(format, args...), try: try, code: exitUsage}
}

// run executes one command line and returns the exit code. Errors go to the
// command's standard error.
func run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	out := root.ErrOrStderr()
	fmt.Fprintln(out, "error:", err)
	var f *failure
	if !errors.As(err, &f) {
		return exitUnexpected
	}
	if f.try != "" {
		fmt.Fprintln(out, "try:  ", f.try)
	}
	return f.code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpv",
		Short: "Every revision of the Model Context Protocol, over every transport.",
		Example: `  mcpv demo --http        a server that shows everything, with commands to paste
  mcpv demo               the same on standard input and output, for an MCP client
  mcpv version            what this is and which revisions it speaks`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noVerb,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c.CommandPath()+" --help", "%w", err) })
	root.SetHelpTemplate(help)
	root.SetUsageTemplate(help)
	root.AddCommand(newDemo(), newVersion())
	return root
}

// noVerb refuses the arguments of a command that has subcommands or takes none.
func noVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	try := c.CommandPath() + " --help"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		try = c.CommandPath() + " " + strings.Join(near, " | ")
	}
	if c.HasSubCommands() {
		return usage(try, "unknown command %q", args[0])
	}
	return usage(try, "%s takes no arguments, got %q", c.CommandPath(), args[0])
}

// help has the examples first: they are what most people look for.
const help = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}{{end}}
{{if .HasExample}}
Examples:
{{.Example}}
{{end}}
Usage: {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}
{{if .HasAvailableSubCommands}}
Commands:
{{range .Commands}}{{if .IsAvailableCommand}}  {{rpad .Name .NamePadding}} {{.Short}}
{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`
