package storetest

import (
	"example.com/convmem"
)

func healthChecks() []check {
	return []check{
		{"health/a new store", checkHealthFresh},
		{"health/counts", checkHealthCounts},
		{"health/after a rebuild", checkHealthRebuilt},
		{"health/after a restart", checkHealthReopened},
		{"health/last sequence never falls", checkLastSequence},
		{"health/dead bytes", checkDeadBytes},
	}
}

// checkHealthFresh wants a store without records, without a snapshot and
// without a recovery.
func checkHealthFresh(k *kit) {
	l := k.open()
	h := l.health()
	k.sane("a new store", h)
	same(k, "messages and records", []int64{h.ActiveMessages, h.DeletedMessages, h.UpdateRecords}, []int64{0, 0, 0})
	same(k, "snapshot valid", h.SnapshotValid, false)
	same(k, "recovered tail", h.RecoveredTail, false)
}

// counts picks what is exactly known about a store: active and deleted
// messages and update records.
func counts(h convmem.HealthResult) [3]int64 {
	return [3]int64{h.ActiveMessages, h.DeletedMessages, h.UpdateRecords}
}

// checkHealthCounts follows the counters through writes, updates, deletes and
// calls that change nothing.
func checkHealthCounts(k *kit) {
	l := k.open()
	see := func(what string, active, deleted, updates int64) {
		k.Helper()
		h := l.health()
		k.sane(what, h)
		same(k, what, counts(h), [3]int64{active, deleted, updates})
	}
	written := l.sayAll("s", "one", "two", "three")
	see("after writes", 3, 0, 0)
	l.setContent(written[0].ID, "changed")
	l.setContent(written[0].ID, "changed again")
	see("after updates", 3, 0, 2)
	l.setContent(written[0].ID, "changed again")
	see("after a no-op", 3, 0, 2)
	l.remove(written[2].ID)
	l.remove(written[1].ID)
	see("after deletes", 1, 2, 2)
	l.deletes("twice", convmem.DeleteRequest{MessageID: written[1].ID}, false)
	see("after a delete of nothing", 1, 2, 2)
	if h := l.health(); h.Memory.Total() <= 0 {
		k.Errorf("a store with a message needs %d bytes of memory", h.Memory.Total())
	}
}

// checkHealthRebuilt wants a log without deleted messages and old versions,
// and smaller than before.
func checkHealthRebuilt(k *kit) {
	l := k.open()
	l.worn()
	before := l.health()
	same(k, "before", counts(before), [3]int64{9, 3, 6})
	l.rebuild()
	after := l.health()
	k.sane("after", after)
	same(k, "after", counts(after), [3]int64{9, 0, 0})
	if after.LogSize >= before.LogSize || after.DeadBytes > before.DeadBytes {
		k.Errorf("log size %d, dead bytes %d before; %d, %d after", before.LogSize, before.DeadBytes, after.LogSize, after.DeadBytes)
	}
}

// checkHealthReopened wants the log's counters back after a restart in good
// order.
func checkHealthReopened(k *kit) {
	l := k.open()
	l.worn()
	before := l.health()
	if !l.reopen() {
		return
	}
	after := l.health()
	k.sane("after a restart", after)
	same(k, "counts", counts(after), counts(before))
	same(k, "format version", after.FormatVersion, before.FormatVersion)
	same(k, "recovered tail", after.RecoveredTail, false)
	l.rebuild()
	l.reopen()
	k.sane("after a rebuild and a restart", l.health())
	same(k, "counts after a rebuild", counts(l.health()), [3]int64{9, 0, 0})
}

// checkLastSequence does everything there is to do.
func checkLastSequence(k *kit) {
	l := k.open()
	last := l.health().LastSequence
	see := func(what string, grows bool) {
		k.Helper()
		now := l.health().LastSequence
		if now < last || grows && now == last {
			k.Errorf("%s: last sequence %d after %d", what, now, last)
		}
		last = now
	}
	first := l.say("s", "one")
	see("write", true)
	second := l.say("s", "two")
	see("write", true)
	l.setContent(first.ID, "changed")
	see("update", true)
	l.remove(second.ID)
	see("delete", true)
	l.rebuild()
	see("rebuild", false)
	l.reopen()
	see("restart", false)
	l.remove(first.ID)
	see("delete", true)
	l.rebuild()
	l.reopen()
	see("rebuild and restart of an empty store", false)
	l.say("s", "three")
	see("write", true)
}

// checkDeadBytes wants the bytes that a rebuild would free to grow with every
// change.
func checkDeadBytes(k *kit) {
	l := k.open()
	written := l.sayAll("s", text(5000), text(5000))
	before := l.health()
	l.setContent(written[0].ID, "short")
	updated := l.health()
	if updated.DeadBytes <= before.DeadBytes {
		k.Errorf("dead bytes %d before an update, %d after", before.DeadBytes, updated.DeadBytes)
	}
	l.remove(written[1].ID)
	if deleted := l.health(); deleted.DeadBytes <= updated.DeadBytes {
		k.Errorf("dead bytes %d before a delete, %d after", updated.DeadBytes, deleted.DeadBytes)
	}
}
