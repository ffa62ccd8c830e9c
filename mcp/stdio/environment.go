package stdio

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// environment is what the child gets: the system's allowlist and the names in
// InheritEnv from our own environment, then the explicit entries, which win.
// It is never nil, which os/exec would take for all of our environment.
func (c *Command) environment() ([]string, error) {
	env := []string{}
	for _, name := range slices.Concat(inherited, c.InheritEnv) {
		v, ok := os.LookupEnv(name)
		// A value that starts so is a shell function, not data.
		if ok && !strings.HasPrefix(v, "()") {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("invalid environment variable name %q", name)
		}
		if strings.Contains(v, "\x00") {
			return nil, fmt.Errorf("environment variable %s contains a NUL byte", name)
		}
		env = append(env, name+"="+v)
	}
	return env, nil
}
