package vfs_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/convmem/store/vfs"
)

func first(images iter.Seq[*vfs.Mem]) *vfs.Mem {
	for image := range images {
		return image
	}
	return nil
}

// disk writes all visible names and bytes on one line, a zero byte as a dot.
func disk(m *vfs.Mem) string {
	var parts []string
	for _, name := range m.Names() {
		content, err := m.ReadFile(name)
		if err != nil {
			return err.Error()
		}
		text := strings.ReplaceAll(string(content), "\x00", ".")
		parts = append(parts, fmt.Sprintf("%s=%s", name, text))
	}
	return strings.Join(parts, " ")
}

// disks returns every crash image of m, sorted, having checked that the count
// is right and that no disk comes twice.
func disks(t testing.TB, m *vfs.Mem) []string {
	t.Helper()
	count := m.CrashImageCount()
	all := []string{}
	for image := range m.CrashImages() {
		all = append(all, disk(image))
	}
	slices.Sort(all)
	if len(all) != count {
		t.Errorf("CrashImageCount says %d, CrashImages yields %d", count, len(all))
	}
	if distinct := slices.Compact(slices.Clone(all)); len(distinct) != len(all) {
		t.Errorf("%d images, only %d of them distinct", len(all), len(distinct))
	}
	return all
}

func wantDisks(t testing.TB, m *vfs.Mem, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, disks(t, m)); diff != "" {
		t.Errorf("crash images (-want +got):\n%s", diff)
	}
}
