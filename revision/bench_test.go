package revision_test

import (
	"fmt"
	"strings"
	"testing"

	"mcpv/revision"
)

// BenchmarkTranslate converts a tool's answer across the eras, small and large.
func BenchmarkTranslate(b *testing.B) {
	for _, size := range []int{10, 1 << 20} {
		content := `{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]`
		for _, c := range []struct {
			name     string
			from, to *revision.Revision
			body     string
		}{
			{"same", revision.V2025_11_25, revision.V2025_11_25, content + `}`},
			{"up", revision.V2025_11_25, revision.V2026_07_28, content + `}`},
			{"down", revision.V2026_07_28, revision.V2025_11_25, content + `,"resultType":"complete"}`},
			{"legacy", revision.V2025_11_25, revision.V2025_06_18, content + `}`},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, size), func(b *testing.B) {
				body := []byte(c.body)
				b.ReportAllocs()
				for b.Loop() {
					f := revision.Frame{Kind: revision.Result, Method: "tools/call", Body: body}
					if err := revision.Translate(&f, c.from, c.to); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
