package store

func formatMutants() []mutant {
	const frames, scan, header, generation = "frame.go", "scan.go", "header.go", "generation.go"
	return []mutant{
		{"frame: no salt", header, `func (h header) salt() uint32 { return crc32.Checksum(h.fileID[:], castagnoli) }`,
			`func (h header) salt() uint32 { return 0 }`, "TestForgedEvidence"},
		{"frame: the header's checksum is not checked", frames, ` || headerCRC(h, salt) != binary.LittleEndian.Uint32(h[4:]) {`, ` {`, "TestEveryBitFlip"},
		{"frame: the payload's checksum is not checked", frames, `
	if crc32.Update(salt, castagnoli, whole[frameHeaderSize:]) != binary.LittleEndian.Uint32(whole[8:]) {`, `
	if false {`, "TestDamageWhileOpen"},
		{"frame: a payload of any length", frames, `if length > MaxPayload || `, `if `, "TestPayloadThatNobodyCanHold"},
		{"scan: frames need not follow one another", scan, `case f.chain != p.chain:`, `case false:`, "TestLeftOverFrame"},
		{"scan: sequence numbers may fall", scan, `case f.seq <= p.seq && (f.kind != kindCarry || f.seq < p.seq):`, `case false:`, "TestFramesThatContradictEachOther"},
		{"scan: frames may vouch for what follows", scan, `case f.synced > p.offset:`, `case false:`, "TestFramesThatContradictEachOther"},
		{"repair: unknown kinds are cut off", "repair.go", `err = g.checkKinds(frames)`, `err = g.checkKinds(frames[:0])`, "TestUnknownKindInATornTail"},
		{"apply: unknown kinds are skipped", generation, `		return unknownKind(f.kind)
`, `		return nil
`, "TestUnknownKindBelowTheDurableEnd"},
		{"apply: deletes of nothing", generation, `if old, existed = g.table.remove(f.id); !existed {`,
			`if old, existed = g.table.remove(f.id); false {`, "TestFramesThatContradictEachOther"},
		{"apply: the last id is not followed", generation, `if g.lastID.Compare(f.id) < 0 {`, `if false {`, "TestLastIDOutlivesItsRecord"},
		{"apply: the last id may fall", generation, `if g.lastID.Compare(f.id) < 0 {`, `if true {`, "TestLastIDIsTheGreatest"},
		{"load: what the header seals may be missing", generation, `watermark: h.sealedEnd,`, ``, "TestSealedLogIsCutOff"},
		{"load: the last id of the header is not known", generation, `lastID: h.lastID,`, ``, "TestLastIDIsInTheHeader"},
		{"load: the last sequence number of the header is not known", generation,
			`return max(g.header.lastSeq, g.end.seq)`, `return g.end.seq`, "TestStatsAddUp"},
		{"header: the checksum is not checked", header, `case crc32.Checksum(b[:124], castagnoli) != binary.LittleEndian.Uint32(b[124:]):`, `case false:`, "TestEveryBitFlip"},
		{"header: of another name", header, `case logName(h.generation) != name:`, `case false:`, "TestHeaderOfAnotherName"},
		{"header: counters at their end", header, `|| h.generation > maxCounter || h.lastSeq > maxCounter:`, `:`, "TestCountersAtTheirEnd"},
		{"header: of a version to come", header, `if h.minReader > FormatVersion {`, `if false {`, "TestNewerFormat"},
		{"table: a frozen copy changes", "table.go", `
	t.epoch.Add(1)
`, "\n", "TestFreezeCopiesOnlyPagesThatChange"},
		{"table: a shared page is written", "table.go", `if epoch := t.epoch.Load(); (*p).epoch != epoch {`, `if epoch := t.epoch.Load(); false {`, "TestFreezeCopiesOnlyPagesThatChange"},
		{"table: removed ids stay in memory", "table.go", `	*e = entry{}
`, ``, "TestRemovedIDsLeaveMemory"},
		{"table: any place", "table.go", `if !at.possible() {`, `if false {`, "TestTableRefusesImpossiblePlaces"},
		{"table: removing breaks searches", "table_index.go", `if distance(home, slot) >= distance(gap, slot) {`, `if false && distance(home, slot) > 0 {`, "TestBucketWithOneHome|TestTableIsAMap"},
	}
}

func snapshotMutants() []mutant {
	const file, layout, records = "snapshot.go", "snapshot_file.go", "table_section.go"
	return []mutant{
		{"snapshot: of a log with another end", file, `h.checkLastFrame(g); err`, `error(nil); err`, "TestSnapshotOfAnotherTail"},
		{"snapshot: of another log", file, `if h.fileID != g.header.fileID || h.generation != g.header.generation {`, `if false {`, "TestSnapshotOfTheLogBefore"},
		{"snapshot: what it covers need not be durable", file, `g.watermark = max(g.watermark, h.covered.offset)`, ``, "TestBadSnapshotStillVouches"},
		{"snapshot: a sink without sections stays empty", file, `
	if !complete {`, `
	if false && !complete {`, "TestSnapshotFillsTheSink"},
		{"snapshot: records that were replaced are applied", file, `if at, ok := g.table.get(f.id); !ok || at.offset != f.offset {`, `if false {`, "TestSnapshotFillsTheSink"},
		{"snapshot: not synced", file, `		err = tmp.file.Sync()
`, ``, "TestSnapshotIsWholeOrNotThere"},
		{"snapshot: of a state that is not the newest", file, `
	if err := l.catchUp(); err != nil {
		return err
	}
	live`, `
	live`, "TestSnapshotOfAnOldLogIsNotPutInPlace"},
		{"snapshot: of a poisoned process", file, `
	if err := l.state.poisoned(); err != nil {
		return err
	}
`, "\n", "TestPoisonedProcessSavesNothing"},
		{"snapshot: the header's checksum is not checked", layout, `case crc32.Update(saltOf(h.fileID), castagnoli, b[:156]) != binary.LittleEndian.Uint32(b[156:]):`, `case false:`, "TestSnapshotBitFlips"},
		{"snapshot: the directory's checksum is not checked", layout, `if crc32.Update(saltOf(h.fileID), castagnoli, directory) != d.crc {`, `if false {`, "TestSnapshotBitFlips"},
		{"snapshot: the checksum of a section is not checked", layout, `if sum.size != place.size || sum.crc != place.crc {`, `if false {`, "TestSnapshotBitFlips"},
		{"snapshot: of a version to come", layout, `case minReader > snapshotVersion:`, `case false:`, "TestSnapshotsThatContradictThemselves"},
		{"snapshot: absurd numbers", layout, `
	minReader := binary.LittleEndian.Uint32(b[12:])
	fault := h.fault()`, `
	minReader := binary.LittleEndian.Uint32(b[12:])
	fault := ""`, "TestSnapshotsThatContradictThemselves"},
		{"snapshot: directory anywhere", layout, `if d.offset < snapshotHeaderSize || d.offset > size || size-d.offset != length {`, `if d.offset < snapshotHeaderSize || d.offset > size {`, "TestSnapshotTruncations"},
		{"snapshot: sections shorter than the file", layout, `if at != end {`, `if false {`, "TestSnapshotsThatContradictThemselves"},
		{"snapshot: two sections of a name", layout, `if _, twice := sections[name]; twice || name == ""`, `if name == ""`, "TestSnapshotsThatContradictThemselves"},
		{"snapshot: sections of a name are written", layout, `case seen[s.Name]:`, `case false:`, "TestWriteSnapshotRefuses"},
		{"snapshot: the table need not agree with the header", records, `if in.end > s.header.covered.offset || in.liveBytes != s.header.counts.liveBytes {`, `if false {`, "TestSnapshotTableMustAgreeWithItsHeader"},
		{"snapshot: a record twice in the table", records, `if t.buildIndex() {`, `if t.buildIndex() && false {`, "TestTableSectionsThatAreRefused"},
		{"snapshot: something behind the table", records, `case err == nil:
		return nil, badSnapshot("something stands behind the record table")`, `case err == nil:`, "TestTableSectionsThatAreRefused"},
		{"snapshot: a sink that refuses its sections is used", file, `return l.options.NewSink(), false`, `return saver, complete`, "TestHalfRestoredSinkIsThrownAway"},
		// Two checks are not here because others stand behind them. A snapshot that
		// covers more than the log holds raises the watermark, so that repair finds
		// the loss as well; and a section that claims to be longer than the file
		// does not match its checksum.
	}
}
