package store

// The checksum of payloads is not among them: where it is wrong, decodeFrame returns
// an empty frame, which has no sequence number and is refused for that.
func salvageMutants() []mutant {
	return []mutant{
		{"salvage: sequence numbers of duplicates do not count", "salvage_scan.go", `ok && known.seq >= f.seq`, `ok && known.seq > f.seq+1<<40`, "TestSalvageOddFrames"},
		{"salvage: a gap between frames that stand side by side is not told", "salvage_scan.go", `} else if odd := f.misplaced(*before); odd != "" {`, `} else if odd := f.misplaced(*before); false && odd != "" {`, "TestSalvageOddFrames"},
		{"salvage: frames must vouch", "salvage_scan.go", `	written.synced = 0
`, ``, "TestSalvageCutOut"},
		{"salvage: a group that is cut off is not told", "salvage_scan.go", `case groupOpen:`, `case false && groupOpen:`, "TestSalvageOddFrames"},
		{"salvage: what was durable and is cut off is not told", "salvage_scan.go", `l.gap(l.size, durable-l.size`, `_ = durable; l.gap(l.size, 0`, "TestSalvageGenerations"},
		{"salvage: what was sealed does not count", "salvage_scan.go", `		durable = l.head.header.sealedEnd`, `		_ = 0`, "TestSalvageGenerations"},
		{"salvage: steps over frames", "salvage_scan.go", `at += frameAlign
			continue`, `at += 64
			continue`, "TestSalvageLargePayloads"},
		{"salvage: the last id of frames is not kept", "salvage_scan.go", `	l.note(f.seq, f.id)
`, ``, "TestSalvageLastID"},
		{"salvage: the oldest log first", "salvage_scan.go", `slices.Backward(logs)`, `slices.All(logs)`, "TestSalvageGenerations"},
		{"salvage: a log without anything is used", "salvage_scan.go", `l.report.Frames > 0 ||`, `true ||`, "TestSalvageGenerations"},
		{"salvage: an empty log is not used", "salvage_scan.go", `|| l.ownHeader() && len(l.report.Gaps) == 0`, ``, "TestSalvageEveryTruncation"},
		{"salvage: frames of kinds to come are taken", "salvage_scan.go", `if f.kind < kindPut || f.kind > kindCarry`, `if false`, "TestSalvageOddFrames"},
		{"salvage: the older slot counts", "salvage_scan.go", `cmp.Compare(a.counter, b.counter)`, `cmp.Compare(b.counter, a.counter)`, "TestSalvageGenerations"},
		{"salvage: the LOCK of another store is believed", "salvage_scan.go", `s.generation == used && saltOf(s.fileID) != salt`, `false`, "TestSalvageGenerations"},
		{"salvage: a log under a wrong name is not told", "salvage_scan.go", `if headerFault(b) == "" {`, `if false {`, "TestSalvageGenerations"},
		{"salvage: the salt is not looked for in LOCK", "salvage_salt.go", `named = append(named, saltOf(s.fileID))`, `_ = s`, "TestSalvageSaltIsNamed"},
		{"salvage: the salt is not looked for in a damaged header", "salvage_salt.go", `named = append(named, saltOf([16]byte(l.head.bytes[16:32])))`, ``, "TestSalvageSaltIsNamed"},
		{"salvage: two salts are one", "salvage_salt.go", `case found && solved != salt:`, `case false:`, "TestSalvageSaltIsNamed"},
		{"salvage: absurd sequence numbers are taken", "salvage_window.go", `decoded.seq == 0 && decoded.kind != kindCarry || decoded.seq > maxCounter`, `false`, "TestSalvageOddFrames"},
		{"salvage: over another store", "salvage.go", `	if err := holdsNoStore(to); err != nil {`, `	if err := error(nil); err != nil {`, "TestSalvageRefuses"},
		{"salvage: beside a writer", "salvage.go", `	if err == nil && !taken {`, `	if err == nil && !taken && false {`, "TestSalvageIntoADirectoryInUse"},
		{"salvage: an unfinished file stays", "salvage.go", `return errors.Join(err, tmp.discard())`, `return err`, "TestSalvageEveryFaultOfTheNewStore"},
		{"salvage: the directory is not synced", "salvage.go", `	return to.SyncDir()`, `	return nil`, "TestSalvagePowerCut"},
		{"salvage: the file is not synced", "salvage.go", `if err := w.file.Sync(); err != nil {`, `if err := error(nil); err != nil {`, "TestSalvagePowerCut"},
		{"salvage: the file is not read back", "salvage.go", `	return w.readBack()`, `	return nil`, "TestSalvageReadsTheCopyBack"},
		{"salvage: the oldest state wins", "salvage.go", `range slices.Backward(live)`, `range slices.All(live)`, "TestSalvageGenerations"},
		{"salvage: parts of groups wait for the rest", "salvage.go", `f.more, f.synced = false, headerSize`, `f.synced = headerSize`, "TestSalvageOddFrames"},
		{"salvage: sequence numbers do not grow", "salvage.go", `f.seq = max(f.seq, w.end.seq+1)`, ``, "TestSalvageOddFrames"},
		{"salvage: the header does not say what is sealed", "salvage.go", `w.header.sealedEnd = w.end.offset`, `w.header.sealedEnd = headerSize`, "TestSalvagedLog"},
		{"salvage: the last sequence number is not kept", "salvage.go", `max(lastSeq, w.end.seq), lastID`, `w.end.seq, lastID`, "TestSalvageLastID"},
		{"salvage: it cannot be cancelled while it copies", "salvage.go", `	if err := cancelled(ctx); err != nil {
		return frame{}, err
	}
`, ``, "TestSalvageCancelled"},
		{"salvage: the damaged log stays open", "salvage.go", `errors.Join(err, source.file.Close())`, `errors.Join(err, nil)`, "TestSalvageOnlyReads"},
	}
}
