package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"mcpv/revision"
)

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "What this is and which revisions it speaks",
		Example: `  mcpv version
  mcpv version --json`,
		Args: noVerb,
		RunE: func(c *cobra.Command, _ []string) error {
			v := describe()
			if !asJSON {
				_, err := fmt.Fprintf(c.OutOrStdout(), "mcpv %s (%s %s)\nspeaks %s\n", v.Version, v.Go, v.Platform, strings.Join(v.Revisions, ", "))
				return err
			}
			raw, err := json.Marshal(v)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", raw)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

type description struct {
	Version   string   `json:"version"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Revisions []string `json:"revisions"` // oldest first
}

func describe() description {
	d := description{Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	for _, r := range revision.All() {
		d.Revisions = append([]string{r.Name}, d.Revisions...)
	}
	return d
}

// version is that of the module, or the commit, as far as the build knows them.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
