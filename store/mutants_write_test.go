package store

func commitMutants() []mutant {
	const file = "commit.go"
	return []mutant{
		{"commit: not synced", file, `
	if err := l.gen.file.SyncData(); err != nil {
		return l.poison("sync of a commit", err)
	}
`, "\n", "TestPowerCutInBatches"},
		{"commit: LOCK is written before the sync", file, `
	if err := l.gen.file.SyncData(); err != nil {
`, `
	early := l.gen.slot()
	early.durableEnd, early.chain = end.offset, end.chain
	if err := l.lock.write(early); err != nil {
		return err
	}
	if err := l.gen.file.SyncData(); err != nil {
`, "TestReadersFollowWhatIsDurable"},
		{"commit: LOCK is not written", file, `l.lock.write(next); err`, `error(nil); err`, "TestTwoRebuildsWhileAProcessIsPaused"},
		{"commit: shown before the sync", file, `
	if err := l.gen.file.SyncData(); err != nil {
`, `
	for _, group := range located {
		if err := l.publish(group); err != nil {
			return err
		}
	}
	located = nil
	if err := l.gen.file.SyncData(); err != nil {
`, "TestPoison"},
		{"commit: a failed sync does not poison", file, `return l.poison("sync of a commit", err)`, `return err`, "TestPoison"},
		{"commit: a failed write of LOCK does not poison", file,
			`return l.poison("announcing a commit", err)`, `return err`, "TestWhatEndsWriting"},
		{"commit: views may find LOCK ahead", file, `
	l.following.Lock()
	defer l.following.Unlock()
`, "\n", "TestNobodyFindsLockAhead"},
		{"commit: Close does not know that something was written", file, `	l.wrote = true
`, ``, "TestEveryBitFlip"},
		{"frame: no mark of an atomic group", file, `more: i < len(changes)-1`, `more: i < 0`, "TestPowerCutInBatches"},
		{"frame: no watermark", file, `synced: g.end.offset`, `synced: 0`, "TestTornFrameVouches"},
		{"frame: the watermark covers the frame before in the same write", file, `synced: g.end.offset`, `synced: end.offset`, "TestPowerCutInBatches"},
		{"frame: the sequence number stands still", file, `			seq++
`, ``, "TestPowerCutInBatches"},
		{"publish: a sink that refuses does not poison", file,
			`return l.state.noteDamage(l.poison("applying a commit", err))`, `return l.state.noteDamage(err)`, "TestSinkRefusesACommit"},
		{"publish: a sink that panics does not poison", file, `if panicked {`, `if panicked && false {`, "TestSinkPanics"},
		{"undo: not done", file, `return l.undo(err)`, `return err`, "TestFullDisk|TestShortWriteTakenBackLeavesAMark"},
		{"undo: no mark", file, `		l.lock.markDirty,
`, ``, "TestShortWriteTakenBackLeavesAMark"},
		{"undo: not cut off", file, `func() error { return l.gen.file.Truncate(l.gen.end.offset) }`,
			`func() error { return nil }`, "TestShortWriteTakenBackLeavesAMark"},
		{"undo: not synced", file, `		l.gen.file.SyncData,
`, ``, "TestShortWriteTakenBackLeavesAMark"},
		{"undo: the mark stays", file, `func() error { return l.lock.write(l.gen.slot()) }`,
			`func() error { return nil }`, "TestWriteTakenBackLeavesNoTrace"},
		{"undo: a failure does not poison", file,
			`return l.poison("taking back a write", errors.Join(cause, err))`, `return errors.Join(cause, err)`, "TestWhatEndsWriting"},
		{"poison: not remembered", file, `return l.state.setPoison(cause)`, `return cause`, "TestPoison"},
	}
}

func queueMutants() []mutant {
	const file, batch = "queue.go", "batch.go"
	return []mutant{
		{"poison: writing goes on", file, `return l.state.poisoned()`, `return nil`, "TestPoison"},
		{"read-only: writing is allowed", file, `if l.options.ReadOnly {`, `if false {`, "TestReadOnlyWritesNothing"},
		{"queue: a cancelled call answers although it is being written", file, `if l.queue.leave(r) {`,
			`if l.queue.leave(r); true {`, "TestCancelledWhileItIsWritten"},
		{"queue: a cancelled call stays", file, `if at < 0 || r.leads {`, `if true {`, "TestCancelledWhileItWaits"},
		{"queue: the leader may leave", file, `if at < 0 || r.leads {`, `if at < 0 {`, "TestNextLeaderStays"},
		{"queue: the newest first", file, `q.waiting = append(q.waiting, r)`,
			`q.waiting = slices.Insert(q.waiting, min(1, len(q.waiting)), r)`, "TestUpdatesRunInTheOrderOfTheirCalls"},
		{"queue: what does not fit goes to the end", file, `slices.Insert(q.waiting, 0, r)`,
			`append(q.waiting, r)`, "TestBatchIsLimited"},
		{"queue: nobody leads next", file, `		q.waiting[0].turn <- struct{}{}
`, ``, "TestUpdatesRunInTheOrderOfTheirCalls"},
		{"queue: the writer's lock is not taken", file, `
		defer release(l.writing)
		err = l.beginWrite(r.ctx, r.deadline)`, `
		release(l.writing)
		err = l.beginWrite(r.ctx, r.deadline)`, "TestRebuildWaitsForTheWriter"},
		{"batch: no limit of frames", batch, `b.frames+len(changes) <= maxBatchFrames && `, ``, "TestBatchIsLimited"},
		{"batch: no limit of bytes", batch, ` && b.bytes+sizeOf(changes) <= maxBatchBytes`, ``, "TestBatchIsLimited"},
		{"batch: the limit parts what belongs together", batch, `return b.frames == 0 || b.frames+`, `return b.frames+`, "TestBatchTakesOneCallOfAnySize"},
		{"batch: a failure is answered as success", batch, `if err != nil && r.dependent {`, `if false {`, "TestPoison"},
		{"batch: what changes nothing succeeds although the batch failed", batch,
			`r.err, r.dependent = err, b.frames > 0`, `r.err, r.dependent = err, len(tx.changes) > 0`, "TestAnswersWaitForWhatTheyDependOn"},
		{"batch: what came before the first change fails with it", batch,
			`if err != nil && r.dependent {`, `if err != nil {`, "TestAnswerBeforeTheFirstChange"},
		{"batch: answered before it is written", file, `	err = l.finish(b)
`, `	b.answer(nil)
	err = l.finish(b)
`, "TestAnswersWaitForWhatTheyDependOn"},
		{"batch: a cancelled call is run", batch, `if r.err = cancelled(r.ctx); r.err != nil {`, `if false {`, "TestCancelledIsNotRun"},
		{"batch: a panic reaches the leader", batch, `r.panicked = recover()`, `_ = r`, "TestPanicStaysWithItsCall"},
		{"batch: a panic is swallowed", batch, `r.panicked = recover()`, `_ = recover()`, "TestPanicStaysWithItsCall"},
		{"batch: what a failed function put is written", batch, `	if err == nil {
		err = b.add(tx.changes)
	}`, `	if added := b.add(tx.changes); err == nil {
		err = added
	}`, "TestFailedUpdateWritesNothing"},
		{"batch: Get does not see what is queued", batch, `
	if c, ok := t.batch.change(id); ok {`, `
	if c, ok := t.batch.change(id); ok && false {`, "TestQueuedChangesAreSeen"},
		{"batch: what was queued before the first look is not seen", batch, `
			b.remember(group)`, `
			_ = group`, "TestQueuedChangesAreFound"},
		{"batch: what is queued after the first look is not seen", batch, `	if b.queued != nil {`, `	if false {`, "TestQueuedChangesAreFound"},
		{"batch: Get sees what is queued to be deleted", batch, `
		if c.kind == kindDelete {
			return nil, ErrNotFound
		}
`, "\n", "TestQueuedChangesAreSeen"},
		{"batch: Get shares memory", batch, `return append([]byte(nil), c.payload...), nil`, `return c.payload, nil`, "TestQueuedChangesAreSeen"},
		{"batch: LastID does not see what is queued", batch, `if b.lastID.Compare(c.id) < 0 {`, `if false {`, "TestQueuedChangesAreSeen"},
		{"batch: the stage does not see what is queued", batch, `if b.stage == nil {`, `if true {`, "TestQueuedChangesAreSeen"},
		{"batch: no stage", batch, `b.stage = sink.Stage()`, `_ = sink`, "TestQueuedChangesAreSeen"},
		{"batch: a stage that refuses is not asked", batch, `
	if err := b.stageGroup(changes); err != nil {`, `
	if err := b.stageGroup(changes); err != nil && false {`, "TestStageRefuses"},
		{"batch: a stage that refused goes on", batch, `		b.restage() // some`, `		// some`, "TestRefusedUpdateLeavesNoTraceInTheStage"},
		{"batch: a new stage forgets what is queued", batch, `_ = b.stageGroup(group)`, `_ = group`, "TestRefusedUpdateLeavesNoTraceInTheStage"},
		{"batch: a function that never returns succeeded", "queue.go", `	err = errAbandoned
`, `	err = nil
`, "TestFunctionEndsTheLeadersGoroutine"},
		{"batch: deleting what is queued to be deleted", batch, `return c.kind == kindPut
	}
	_, ok`, `_ = c
	}
	_, ok`, "TestAnswersWaitForWhatTheyDependOn"},
		{"batch: deleting what is not there", batch, `if c.kind == kindDelete && !alive {`, `if false && !alive {`, "TestRefusedChanges"},
		{"batch: a payload of any size", batch, `if len(c.payload) > MaxPayload {`, `if false {`, "TestRefusedChanges"},
	}
}
