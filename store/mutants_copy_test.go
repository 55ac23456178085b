package store

func backupMutants() []mutant {
	const file = "backup.go"
	return []mutant{
		{"backup: over another store", file, `fileOfStore(names); found {`, `fileOfStore(names); found && name == "" {`, "TestBackupNeedsADirectoryWithoutStore"},
		{"backup: the directory is not synced", file, `to.SyncDir(); err`, `error(nil); err`, "TestBackupPowerCut"},
		{"backup: a log that was replaced is damaged", file, `errors.Join(l.unlessReplaced(&old, err), c.discard())`, `errors.Join(err, c.discard())`, "TestBackupWhileTheLogIsReplaced"},
		{"backup: what others have written is left out", file, `l.View(ctx, func(*View) error { return nil }); err`, `error(nil); err`, "TestBackupIsOfTheNewestState"},
	}
}

func verifyMutants() []mutant {
	const file, frames = "verify.go", "verify_frames.go"
	return []mutant{
		{"verify: checksums of payloads are not checked", frames, `case !intact:`, `case !intact && false:`, "TestVerifyFindsEveryBitFlip"},
		{"verify: frames need not follow one another", frames, `case reason != "":`, `case reason != "" && false:`, "TestVerifyOfADamagedLog"},
		{"verify: the header is not checked", file, `v.checkHeader(); err`, `error(nil); err`, "TestVerifyFindsEveryBitFlip"},
		{"verify: the table is not compared", file, `	v.compareTable(live)
`, ``, "TestVerifyComparesMemory"},
		{"verify: the snapshot is not compared", file, `	v.concludeSnapshot()
`, ``, "TestVerifyFindsEveryBitFlipInTheSnapshot"},
		{"verify: the sink is not compared", file, `return v.compareSink(ctx)`, `return nil`, "TestVerifyComparesMemory"},
		{"verify: a log that was replaced is damaged", file, `
	if v.stats.DamageCount > 0 {
		if standing := v.log.standing(v.then); standing != nil {`, `
	if v.stats.DamageCount > 0 {
		if standing := error(nil); standing != nil {`, "TestVerifyWhileTheLogIsReplaced"},
	}
}
