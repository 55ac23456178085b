package convmem

import (
	"slices"
	"time"
)

func defaultMetadata() Metadata {
	return Metadata{Tier: tiers[0], Kind: kinds[0], Importance: DefaultImportance}
}

// with lays a checked patch over m. The result shares no memory with p.
func (m Metadata) with(p MetadataPatch) Metadata {
	setGiven(&m.ToolCallID, p.ToolCallID)
	setGiven(&m.Importance, p.Importance)
	setGiven(&m.Summary, p.Summary)
	if p.Tags != nil {
		m.Tags = fold(p.Tags)
	}
	if p.Tier != "" {
		m.Tier = p.Tier
	}
	if p.Kind != "" {
		m.Kind = p.Kind
	}
	if p.Relations != nil {
		m.Relations = fold(p.Relations)
	}
	if p.SourceMessageIDs != nil {
		m.SourceMessageIDs = fold(p.SourceMessageIDs)
	}
	if !p.OccurredAt.IsZero() {
		m.OccurredAt = fromUnixMilli(p.OccurredAt.UnixMilli())
	}
	return m
}

func setGiven[T any](value, given *T) {
	if given != nil {
		*value = *given
	}
}

// fold copies the list without what stands in it earlier. Lists are short:
// their limits bound the quadratic search.
func fold[T comparable](list []T) []T {
	var folded []T
	for _, value := range list {
		if !slices.Contains(folded, value) {
			folded = append(folded, value)
		}
	}
	return folded
}

// fromUnixMilli makes every time that a store hands out: UTC, in whole
// milliseconds, without a monotonic part.
func fromUnixMilli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
