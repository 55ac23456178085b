package store

import "slices"

// allMutants takes away, one after another, what this package does so that its
// promises hold. Where something is done that no promise needs, a comment says
// so, so that nobody takes its absence here for a gap.
func allMutants() []mutant {
	return slices.Concat(
		commitMutants(), queueMutants(), enterMutants(), followMutants(),
		lockMutants(), repairMutants(), rebuildMutants(), backupMutants(),
		formatMutants(), snapshotMutants(), verifyMutants(), salvageMutants(),
	)
}
