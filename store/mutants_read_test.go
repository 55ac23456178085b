package store

func enterMutants() []mutant {
	const file, open, read = "enter.go", "open.go", "open_read.go"
	return []mutant{
		{"enter: catches up only with LOCK in hand", file, `
	if err := l.catchUp(); err != nil {
		return err
	}
	return l.enterWith`, `
	return l.enterWith`, "TestBulkWorkHoldsNobodyUp"},
		{"enter: loads with LOCK in hand", file, `
		settled, err := l.settle(loaded)
`, `
		if loaded == nil {
			loaded, _ = l.loadNewest()
		}
		settled, err := l.settle(loaded)
`, "TestBulkWorkHoldsNobodyUp"},
		{"enter: LOCK is not read again when it is taken", file, `l.lock.read(); err`, `error(nil); err`, "TestMarkOfAnotherIsSeen"},
		{"settle: lost files are not noticed", file, `l.checkNames(names, logs); err`, `error(nil); err`, "TestLostFiles"},
		{"settle: what LOCK names may be missing", file, `
	if l.lock.valid {
		known`, `
	if false {
		known`, "TestLostFiles"},
		{"settle: what is open may be missing", file, `
	if l.gen != nil {
		known`, `
	if false {
		known`, "TestLogIsRemovedWhileOpen"},
		{"settle: what the snapshot is of may be missing", file,
			`if newest == 0 && slices.Contains(names, snapshotName) {`, `if false {`, "TestSnapshotWithoutALog"},
		{"settle: the open file may be another one than the name stands for", file,
			`if same || err != nil {`, `if true || same {`, "TestLogIsReplacedWhileOpen"},
		{"settle: a name that has gone by itself is a foreign file", file,
			`if now, err := l.newest(); err != nil || now != number {`, `if now, err := l.newest(); err != nil || now == 0 {`, "TestNameGoesByItself"},
		{"settle: a name that has gone by itself is a failure", file, `if errors.Is(err, errReplaced) {`, `if false {`, "TestNameGoesByItself"},
		{"settle: LOCK may be of another store", file, `
	if s := l.lock.current; l.lock.valid && s.generation`, `
	if s := l.lock.current; false && s.generation`, "TestLogOfAnotherStore"},
		{"settle: nothing is repaired", file, `if !l.clean(g, size) || otherGenerations {`, `if false {`, "TestHalfABatchIsNeverRolledForward"},
		{"settle: a second log is left", file, `if !l.clean(g, size) || otherGenerations {`, `if !l.clean(g, size) {`, "TestRebuildLeavesNoByte"},
		{"settle: the directory is not looked at although LOCK is dirty", file, `|| s.dirty || !s.names(l.gen.header) {`, `|| !s.names(l.gen.header) {`, "TestRebuildMarksLockBeforeItPublishes"},
		{"settle: the directory is not looked at although LOCK names another log", file, `|| s.dirty || !s.names(l.gen.header) {`, `|| s.dirty {`, "TestReplacedLogThatIsStillThere"},
		{"settle: the log's name is not looked at", file, `return l.fs.SameFile(l.gen.name, l.gen.file)`, `return true, nil`, "TestLogIsReplacedWhileOpen"},
		{"settle: what others wrote is not applied", file, `return l.applyUpTo(l.lock.current)`, `return nil`, "TestCommitBehindAnother"},
		{"settle: what an open has not loaded is not applied", file, `
	if err := g.load(l.lock.current.durableEnd); err != nil {
		return g.unreadable(err)
	}
`, "\n", "TestOpenBesideAWriter"},
		{"settle: the end may be another one than LOCK says", file, `return g.reached(l.lock.current)`, `return nil`, "TestAnotherTail"},
		{"clean: of another log", file, `l.lock.valid && s.names(g.header) && !s.dirty`, `l.lock.valid && !s.dirty`, "TestLockOfTheLogBefore"},
		{"clean: although dirty", file, ` && !s.dirty && s.durableEnd == size`, ` && s.durableEnd == size`, "TestShortWriteTakenBackLeavesAMark"},
		{"clean: whatever the size", file, ` && s.durableEnd == size`, ``, "TestTailOfAPoisonedHolderIsNotDurable"},
		{"create: the file is not synced", file, `tmp.file.Sync(); err`, `error(nil); err`, "TestPowerCutInBatches"},
		{"create: the directory is not synced", file, `return l.fs.SyncDir()`, `return nil`, "TestPowerCutInBatches"},
		{"create: LOCK does not name the log", file, `l.lock.write(g.slot()); err`, `error(nil); err`, "TestLogOfANewStoreIsLost"},
		{"rebuild: nothing is carried", "rebuild.go", `if c.carry != nil {`, `if false {`, "TestRebuildCarries"},
		{"apply: what was carried is not received", "generation.go", `return g.receive(f.payload)`, `return nil`, "TestRebuildCarries"},
		{"open: unfinished files of rebuilds are removed without MAINT", "temporary.go", `
		if errors.Is(err, ErrBusy) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := errors.Join(l.removeAll(prefix), maint.Close()); err != nil {`, `
		if errors.Is(err, ErrBusy) {
			return l.removeAll(prefix)
		}
		if err != nil {
			return err
		}
		if err := errors.Join(l.removeAll(prefix), maint.Close()); err != nil {`, "TestTemporaryFilesOfOthersAreLeftAlone"},
		{"open: unfinished files of creations are removed without LOCK", open, `
	loaded, err := l.loadNewest()
`, `
	_ = l.removeAll(newPrefix)
	loaded, err := l.loadNewest()
`, "TestTemporaryFilesOfOthersAreLeftAlone"},
		{"open: unfinished files of rebuilds stay", open, `l.sweep(); err`, `error(nil); err`, "TestUnfinishedFilesOfTheDeadAreRemoved"},
		{"open: unfinished files of creations stay", open, `l.removeAll(newPrefix); err`, `error(nil); err`, "TestUnfinishedFilesOfTheDeadAreRemoved"},
		{"open: files that only look like ours are removed", "temporary.go", ` || !temporaryName.MatchString(name)`, ``, "TestForeignFiles"},
		{"open: an exclusive process does not name itself", open, `return l.lock.write(l.gen.slot())`, `return nil`, "TestBusyNamesAnExclusiveHolder"},
		{"read-only: the tail is shown although somebody writes", read, `if !taken {`, `if false && !taken {`, "TestReadOnlyBesideAWriter"},
		{"read-only: the tail is not shown", read, `g.load(t.end.offset); err`, `error(nil); err`, "TestReadOnlyShowsTheTail"},
		{"read-only: a loss is not noticed", read, `l.checkLoss(g, t); err`, `error(nil); err`, "TestReadOnlyNoticesALoss"},
		{"read-only: the doubt is not told", read, `l.state.noteUnconfirmed(end - known)`, `_ = end - known`, "TestReadOnlyShowsTheTail"},
		{"read-only: a guess passes for knowledge", read, `if !sure || t.end.offset > known {`, `if false && !sure {`, "TestReadOnlyTailIsLost"},
		{"read-only: damage passes for a guess that is wrong", read, `return size < g.end.offset, err`, `return size >= 0, err`, "TestDamageUnderAGuess|TestVerifyAndBackupOfAGuess"},
		{"read-only: a log that is short is shown", read, `case g.short != nil:`, `case false:`, "TestDamagedLogIsLoadedAgain"},
		{"read-only: a guess that is wrong passes for damage", "log.go", `if lookErr == nil && g.guess != nil {`, `if false {`, "TestReadOnlyTailIsLost"},
	}
}

func followMutants() []mutant {
	const file, log = "follow.go", "log.go"
	return []mutant{
		{"view: does not look at LOCK", log, `if compare && !l.options.Exclusive {`, `if false {`, "TestReadersFollowWhatIsDurable|TestSlowProcessBringsNothingBack"},
		{"view: not run again when the log is replaced under it", log,
			`if err = v.log.whyUnreadable(v.gen, err); errors.Is(err, errReplaced) {`, `if false {`, "TestViewIsRunAgainOverARebuild"},
		{"view: a log that was replaced is damaged", log, `valid && s.generation > g.header.generation
`, `valid && s.generation > maxCounter
`, "TestViewIsRunAgainOverARebuild"},
		{"view: after Close", log, `
	if l.closed {
		return false, ErrClosed`, `
	if false {
		return false, ErrClosed`, "TestClosed"},
		{"close: no clean frame", log, `return l.commit([][]change{{{kind: kindClean}}})`, `return nil`, "TestEveryBitFlip"},
		{"close: a clean frame by one who wrote nothing", log, `if !l.wrote || `, `if `, "TestCloseSealsWhatOthersWrote"},
		{"close: a clean frame behind another", log, `if l.gen.last.kind == kindClean || `, `if `, "TestCloseMarksTheLogOnceForAll"},
		{"close: a clean frame of a poisoned process", log, `if !l.wrote || l.state.poisoned() != nil {`, `if !l.wrote {`, "TestPoison"},
		{"close: a snapshot of a poisoned process", log, `if !l.options.ReadOnly && l.state.poisoned() == nil {`, `if !l.options.ReadOnly {`, "TestPoison"},
		{"close: a snapshot of a read-only process", log, `if !l.options.ReadOnly && l.state.poisoned() == nil {`, `if l.state.poisoned() == nil {`, "TestReadOnlyWritesNothing"},
		{"behind: an older generation is newer", file, `return s.generation > g.header.generation`, `return s.generation < g.header.generation`, "TestViewIsOfTheNewestLog"},
		{"behind: less is more", file, `return s.durableEnd > g.end.offset || `, `return s.durableEnd < g.end.offset || `, "TestTwoRebuildsWhileAProcessIsPaused"},
		{"behind: another store's LOCK does not matter", file, ` || s.fileID != g.header.fileID`, ``, "TestLockOfAnotherStoreWhileOpen"},
		{"follow: to the end of the file", file, `
	groups := newScanner(l.gen.file, l.gen.salt, l.gen.end, s.durableEnd)
`, `
	s.durableEnd, _ = l.gen.file.Size()
	groups := newScanner(l.gen.file, l.gen.salt, l.gen.end, s.durableEnd)
`, "TestReadersFollowWhatIsDurable|TestTailOfAPoisonedHolderIsNotDurable"},
		{"follow: frames one by one", "scan.go", `if !f.more {`, `if true {`, "TestPowerCutInBatches"},
		{"follow: the end may be another one than LOCK says", file, `if g.end.offset != s.durableEnd || g.end.chain != s.chain {`, `if false {`, "TestAnotherTail"},
		{"follow: the last frame may be another one than LOCK says", file, ` || g.end.chain != s.chain {`, ` {`, "TestAnotherTail"},
		{"follow: a new log that ends early is taken", file, `if next.end.offset <= s.durableEnd {`, `if false {`, "TestNewLogEndsEarly"},
		{"follow: the sink outlives its log", file, `
	l.swap(next)
	return nil
}

// applyUpTo`, `
	next.sink = l.gen.sink
	l.swap(next)
	return nil
}

// applyUpTo`, "TestReaderOfARebuild"},
		{"follow: no second look when files go away", file, `if again.generation <= s.generation {`, `if true || again.generation <= s.generation {`, "TestReaderBetweenTwoRebuilds"},
		{"load: no second look when files go away", file, `if listErr == nil && now == newest {`, `if true || now == newest {`, "TestOpenBetweenTwoRebuilds"},
		{"load: beyond what is durable", file, `
	return g.load(max(limit, g.end.offset))`, `
	if limit, err = g.file.Size(); err != nil {
		return err
	}
	return g.load(max(limit, g.end.offset))`, "TestReadOnlyBesideAWriter"},
	}
}

func lockMutants() []mutant {
	const file = "lockfile.go"
	return []mutant{
		{"LOCK: not taken", file, `if taken || err != nil {`, `if true || taken {`, "TestBusyNamesTheHolder"},
		{"LOCK: kept", file, `
	l.released = time.Now()
	return l.lock.Unlock()`, `
	return nil`, "TestTwoRebuildsWhileAProcessIsPaused"},
		{"LOCK: the wait does not end", file, ` || !time.Now().Before(deadline) {`, ` {`, "TestBusyEndsAtTheDeadline"},
		{"LOCK: not the file of that name", "enter.go", `l.lock.checkName(); err`, `error(nil); err`, "TestLockIsReplacedWhileOpen"},
		{"LOCK: both slots in one place", file, `if s.counter%2 == 0 {`, `if false {`, "TestTornSlot"},
		{"LOCK: the checksum of a slot is not checked", file, ` ||
		crc32.Checksum(b[:56], castagnoli) != binary.LittleEndian.Uint32(b[56:]) {`, ` {`, "TestEveryBitFlipInLock"},
		{"LOCK: the older slot counts", file, `found.counter > s.counter`, `found.counter < s.counter`, "TestTwoRebuildsWhileAProcessIsPaused"},
		{"LOCK: the mark names no log", file, `
	s := l.current
	s.dirty = true`, `
	s := slot{dirty: true}`, "TestRebuildMarksLockBeforeItPublishes"},
		{"MAINT: not taken", "temporary.go", `if err == nil && !taken {`, `if false && !taken {`, "TestTemporaryFilesOfOthersAreLeftAlone"},
		// What comes before the lock is tried, the mark of those who wait and the
		// courtesy towards them, is there for fairness alone: no state depends on
		// it, and a test of it would have to measure time.
	}
}
