package mcpserver

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var documentedParameter = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (yes)? ?\\|")

// The manual lists the parameters of every tool, no more and no fewer, and says
// which are required.
func TestManualMatchesTools(t *testing.T) {
	manual, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		_, section, found := strings.Cut(string(manual), "\n## "+tool.name+"\n")
		if !found {
			t.Errorf("docs/mcp.md has no section %s", tool.name)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		documented := map[string]bool{}
		for _, row := range documentedParameter.FindAllStringSubmatch(section, -1) {
			documented[row[1]] = row[2] == "yes"
		}
		offered := map[string]bool{}
		for _, p := range tool.parameters {
			offered[p.name] = p.required
		}
		if diff := cmp.Diff(offered, documented); diff != "" {
			t.Errorf("%s: parameters and whether they are required (-tool +manual):\n%s", tool.name, diff)
		}
	}
}
