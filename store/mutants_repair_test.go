package store

func repairMutants() []mutant {
	const file = "repair.go"
	return []mutant{
		{"repair: a loss is not noticed", file, `
	if err := l.checkLoss(g, t); err != nil {
		return err
	}
	err = l.mend`, `
	err = l.mend`, "TestRestoredOlderLog"},
		{"repair: a loss of what LOCK vouches for", file, `if s := l.lock.current; l.matching(g) {`, `if s := l.lock.current; false {`, "TestRestoredOlderLog"},
		{"repair: another last frame than LOCK vouches for", file, ` || t.end.offset == s.durableEnd && t.end.chain != s.chain`, ``, "TestAnotherTail"},
		{"repair: a loss of what the header or a snapshot vouches for", file, `lost := t.end.offset < g.watermark || `, `lost := `, "TestSealedLogIsCutOff"},
		{"repair: a log shorter than what is applied", file, `lost := t.end.offset < g.watermark || t.end.offset > t.size`, `lost := t.end.offset < g.watermark`, "TestLogIsCutOffWhileOpen"},
		{"repair: later frames are not looked for", file, `if !lost && t.end.offset < t.size {`, `if false {`, "TestTornFrameVouches"},
		{"repair: frames vouch for nothing", "scan.go", `if synced := syncedOf(h); from < synced && synced <= at {`, `if false {`, "TestTornFrameVouches"},
		{"repair: frames are looked for one behind the other", "scan.go", `at += frameAlign {`, `at += 1 << 20 {`, "TestTornFrameVouches"},
		{"repair: valid frames are cut off", file, `
	err = l.mend(g, t, otherGenerations)
`, `
	if l.matching(g) && l.lock.current.durableEnd < t.end.offset {
		return g.file.Truncate(l.lock.current.durableEnd)
	}
	err = l.mend(g, t, otherGenerations)
`, "TestStaleDurableEndNeverCutsValidFrames"},
		{"repair: a failure does not poison", file, `return l.poison("repairing the log", err)`, `return err`, "TestWhatEndsWriting"},
		{"repair: no mark", file, `
	if err := l.lock.markDirty(); err != nil {
		return err
	}
`, "\n", "TestRepairLeavesAMark"},
		{"repair: the directory is not synced", file, `if !sure || otherGenerations {`, `if false && !sure {`, "TestFailedDirectorySyncNeedsANewChange"},
		{"repair: the directory is not changed before its sync", file, `
	tmp, err := l.createTemporary(newPrefix)
	if err != nil {
		return err
	}
	if err := tmp.discard(); err != nil {
		return err
	}
	return l.fs.SyncDir()`, `
	return l.fs.SyncDir()`, "TestFailedDirectorySyncNeedsANewChange"},
		{"repair: the changed directory is not synced", file, `
	if err := tmp.discard(); err != nil {
		return err
	}
	return l.fs.SyncDir()`, `
	return tmp.discard()`, "TestFailedDirectorySyncNeedsANewChange"},
		{"repair: the log's name may have gone before the directory is synced", file,
			`if same, err := l.fs.SameFile(g.name, g.file); err != nil || !same {`, `if same, err := l.fs.SameFile(g.name, g.file); false && !same {`, "TestNameGoesByItself"},
		{"repair: nothing is written again", file, `rewrite(g.file, known, t.end.offset); err`, `rewrite(g.file, known, known); err`, "TestTailOfAPoisonedHolderIsNotDurable"},
		{"repair: what is written again is taken for durable", file, `
	known, sure := l.knownDurable(g, t)
	if err := l.lock`, `
	known, sure := l.knownDurable(g, t)
	known = t.end.offset
	if err := l.lock`, "TestTailOfAPoisonedHolderIsNotDurable"},
		{"repair: another log's LOCK is believed", file, `
	if !l.matching(g) {
		return t.watermark, false`, `
	if !l.lock.valid {
		return t.watermark, false`, "TestRestoredLogIsMadeDurable"},
		{"repair: the tail is not cut off", file, `return g.file.Truncate(t.end.offset)`, `return nil`, "TestHalfABatchIsNeverRolledForward"},
		{"repair: not synced", file, `
	if err := g.file.Sync(); err != nil {
		return err
	}
	next`, `
	next`, "TestHalfABatchIsNeverRolledForward"},
		{"repair: LOCK is written before the sync", file, `
	if err := g.file.Sync(); err != nil {
		return err
	}
	next := g.slot()
	next.durableEnd, next.chain = t.end.offset, t.end.chain
	if err := l.lock.write(next); err != nil {
		return err
	}
`, `
	next := g.slot()
	next.durableEnd, next.chain = t.end.offset, t.end.chain
	if err := l.lock.write(next); err != nil {
		return err
	}
	if err := g.file.Sync(); err != nil {
		return err
	}
`, "TestRepairIsAnnouncedWhenItIsDurable"},
		{"repair: replaced logs stay", file, `err := l.removeOlder(g.header.generation)`, `err := error(nil)`, "TestRebuildLeavesNoByte"},
		{"erase: not emptied", file, `file.Truncate(0); err`, `error(nil); err`, "TestRebuildLeavesNoByte"},
		{"erase: emptied, not synced", file, `
	return file.Sync()
`, `
	return nil
`, "TestRebuildLeavesNoByte"},
		{"erase: not removed", file, `if err := l.fs.Remove(name); err != nil && emptied != nil {`, `if err := error(nil); err != nil && emptied != nil {`, "TestRebuildLeavesNoByte"},
		{"erase: neither emptied nor removed, and nobody hears of it", file, `return errors.Join(emptied, err)`, `return nil`, "TestRebuildDropsWhatEarlierOnesCouldNot"},
		{"erase: whatever the file is", file, `check(file); err`, `error(nil); err`, "TestForeignFiles"},
		// The last sync of the directory in mend is not here: should a power cut
		// bring a removed name back, the next holder finds two logs, of which the
		// newer one counts, and removes it again. It saves that one the work.
	}
}

func rebuildMutants() []mutant {
	const file = "rebuild.go"
	return []mutant{
		{"rebuild: unfinished files of others stay", file, `errors.Join(l.removeAll(rebuildPrefix), l.removeAll(snapshotPrefix))`, `error(nil)`, "TestUnfinishedFilesOfTheDeadAreRemoved"},
		{"rebuild: the copy is not synced", file, `c.tmp.file.Sync(); err`, `error(nil); err`, "TestRebuildMarksLockBeforeItPublishes"},
		{"rebuild: the copy is not read back", file, `return checkFrames(c.tmp.file, c.gen.salt, from, c.gen.end)`, `return nil`, "TestRebuildReadsTheCopyBack"},
		{"rebuild: the header is not read back", file, `if !bytes.Equal(back, want.encode()) {`, `if false {`, "TestRebuildReadsTheCopyBack"},
		{"rebuild: what was written meanwhile is not copied", file, `for s.at.offset < old.end.offset {`, `for false {`, "TestRebuildWhileWriting"},
		{"rebuild: records of others pass for the one that was sought", "generation.go", `if err == nil && (f.id != id || f.kind != kindPut) {`, `if false {`, "TestRebuildOverMisdirectedWrite"},
		{"rebuild: parts of groups wait for the rest", file, `f.more = false`, ``, "TestRebuildEndsGroups"},
		{"rebuild: the log may have been replaced meanwhile", file, `if !l.gen.slot().names(c.old.header) {`, `if false {`, "TestRebuildOverAnotherOne"},
		{"rebuild: a log replaced while it is opened is an error", file, `
	if errors.Is(err, fs.ErrNotExist) {
		err = l.whyUnreadable(g, err)`, `
	if false {
		err = l.whyUnreadable(g, err)`, "TestRebuildOverAnotherOne"},
		{"rebuild: a log replaced while it is read is damaged", file, `err = l.whyUnreadable(&c.old, err)`, `_ = 0`, "TestRebuildOverAnotherOne"},
		{"rebuild: the header does not say what is sealed", file, `c.gen.header.sealedEnd = c.gen.end.offset`, `c.gen.header.sealedEnd = headerSize`, "TestSealedLogIsCutOff"},
		{"rebuild: the header does not know the last sequence number", file, `c.gen.header.lastSeq = old.lastSeq()`, ``, "TestStatsAddUp"},
		{"rebuild: the header does not know the last id", file, `c.gen.header.lastID = old.lastID`, ``, "TestLastIDIsInTheHeader"},
		{"rebuild: the process does not know the last id", file, `c.gen.lastID = old.lastID`, ``, "TestLastIDSurvivesDeleteAndRebuild"},
		{"rebuild: no mark", file, `
	if err := l.lock.markDirty(); err != nil {
		return errors.Join(err, c.tmp.discard())
	}
`, "\n", "TestRebuildMarksLockBeforeItPublishes"},
		{"rebuild: the directory is not synced", file, `
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("publishing a rebuild", err)
	}
`, "\n", "TestFailedDirectorySyncNeedsANewChange"},
		{"rebuild: LOCK names the log before the directory is synced", file, `
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("publishing a rebuild", err)
	}
	if err := l.adopt(c.gen); err != nil {
		return l.poison("switching to a rebuilt log", err)
	}
`, `
	if err := l.adopt(c.gen); err != nil {
		return l.poison("switching to a rebuilt log", err)
	}
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("publishing a rebuild", err)
	}
`, "TestLockNamesOnlyWhatIsDurable"},
		{"rebuild: a failed sync of the directory does not poison", file, `
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("publishing a rebuild", err)
`, `
	if err := l.fs.SyncDir(); err != nil {
		return err
`, "TestWhatEndsWriting"},
		{"rebuild: a failed switch does not poison", file, `return l.poison("switching to a rebuilt log", err)`, `return err`, "TestWhatEndsWriting"},
		{"rebuild: a rename that failed and happened does not poison", file, `if err != nil || slices.Contains(names, c.gen.name) {`, `if err != nil || names == nil {`, "TestWhatEndsWriting"},
		{"rebuild: LOCK stays marked after a rename that failed", file, `l.lock.write(l.gen.slot()); err`, `error(nil); err`, "TestWriteTakenBackLeavesNoTrace"},
		{"rebuild: LOCK does not name the new log", file, `l.lock.write(next.slot()); err`, `error(nil); err`, "TestSlowProcessBringsNothingBack"},
		{"rebuild: the old log stays", file, `older := l.removeOlder(l.gen.header.generation)`, `older := error(nil)`, "TestRebuildLeavesNoByte"},
		{"rebuild: what could not be removed is forgotten", file, `l.leftover = older != nil`, `_ = older`, "TestReplacedLogIsRemovedLater"},
		{"rebuild: the old snapshot stays", file, `errors.Join(l.removeSnapshot(), `, `errors.Join(`, "TestRebuildRemovesTheSnapshot"},
		{"rebuild: the removal is not synced", file, `
	if err := l.fs.SyncDir(); err != nil {
		return l.poison("removing a replaced log", err)
	}
`, "\n", "TestRebuildSyncsTheRemoval"},
		{"rebuild: a failed sync of the removal does not poison", file, `return l.poison("removing a replaced log", err)`, `return err`, "TestWhatEndsWriting"},
	}
}
