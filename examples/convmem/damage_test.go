package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDamagedMessage: a message is damaged, and everything beside it is there.
func TestDamagedMessage(t *testing.T) {
	dir, ids := sampleStore(t)
	must(t, dir, "rebuild") // makes a snapshot, so that opening does not read the log
	spoil(t, dir, text("PostgreSQL."))
	unchanged(t, dir, func() {
		o := convmemOn(t, dir, "", "verify", "-json")
		d := document(t, o.out)
		if o.code != 6 || d["status"] != "DAMAGED" || d["damage_count"] != 1.0 || !strings.Contains(o.out, ids["PostgreSQL."]) {
			t.Errorf("verify: exit code %d: %s%s", o.code, o.out, o.log)
		}
		o = convmemOn(t, dir, "", "verify")
		if o.code != 6 || !strings.Contains(o.out, "damage: message "+ids["PostgreSQL."]) || !strings.Contains(o.out, "1 damaged place;") {
			t.Errorf("verify: exit code %d: %s%s", o.code, o.out, o.log)
		}
		o = convmemOn(t, dir, "", "history", "monday")
		if o.code != 6 || strings.Count(o.out, "\n") != 2 || !strings.Contains(o.log, "1 damaged message left out") {
			t.Errorf("history: exit code %d: %s%s", o.code, o.out, o.log)
		}
		if o = convmemOn(t, dir, "", "history", "monday", "-limit", "1"); o.code != 0 || strings.Count(o.out, "\n") != 1 {
			t.Errorf("history up to the damage: exit code %d: %s%s", o.code, o.out, o.log)
		}
		if o = convmemOn(t, dir, "", "search", "choice"); o.code != 6 || o.out != "" || !strings.Contains(o.log, "CORRUPT") {
			t.Errorf("search: exit code %d: %s%s", o.code, o.out, o.log)
		}
		if o = convmemOn(t, dir, "", "show", ids["PostgreSQL."]); o.code != 6 {
			t.Errorf("show: exit code %d: %s%s", o.code, o.out, o.log)
		}
		if out := must(t, dir, "delete", "-dry-run", ids["PostgreSQL."]); !strings.Contains(out, "which is damaged") {
			t.Error(out)
		}
		if out := must(t, dir, "forget", "-dry-run", "monday"); !strings.Contains(out, "would forget 3 messages") {
			t.Error(out)
		}
	})
	must(t, dir, "delete", ids["PostgreSQL."])
	must(t, dir, "rebuild")
	must(t, dir, "verify")
}

// TestSalvage saves what stands beside damage that keeps the store from opening.
func TestSalvage(t *testing.T) {
	dir, ids := sampleStore(t)
	spoil(t, dir, text("PostgreSQL."))
	saved := filepath.Join(t.TempDir(), "saved")
	unchanged(t, dir, func() {
		for _, command := range []string{"verify", "stats", "rebuild", "export"} {
			o := convmemOn(t, dir, "", command)
			if o.code != 6 || !strings.Contains(o.log, "convmem salvage FROM TO") {
				t.Errorf("%s: exit code %d: %s", command, o.code, o.log)
			}
		}
		o := convmemOn(t, "", "", "salvage", "-json", dir, saved)
		d := document(t, o.out)
		if o.code != 0 || d["messages"] != 5.0 || len(d["gaps"].([]any)) != 1 || d["skipped_bytes"].(float64) < 11 {
			t.Errorf("exit code %d: %s%s", o.code, o.out, o.log)
		}
		o = convmemOn(t, "", "", "salvage", dir, saved+"2")
		if o.code != 0 || !strings.HasPrefix(o.out, "gap: convmem-") || !strings.Contains(o.out, "saved 5 messages") {
			t.Errorf("exit code %d: %s%s", o.code, o.out, o.log)
		}
	})
	must(t, saved, "verify")
	if o := convmemOn(t, saved, "", "show", ids["PostgreSQL."]); o.code != 3 {
		t.Errorf("exit code %d: %s", o.code, o.out)
	}
	if out := must(t, saved, "history", "-namespace", "tenant", "monday"); !strings.Contains(out, "tenants") {
		t.Error(out)
	}
	if o := convmemOn(t, "", "", "salvage", dir, saved); o.code != 2 {
		t.Errorf("into a store: exit code %d: %s", o.code, o.log)
	}
}
