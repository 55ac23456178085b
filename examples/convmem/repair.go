package main

import (
	"context"

	"example.com/convmem"
)

type verifyDocument struct {
	Status          string                `json:"status"`
	Messages        int64                 `json:"messages"`
	Frames          int64                 `json:"frames"`
	Bytes           int64                 `json:"bytes"`
	DamageCount     int64                 `json:"damage_count"`
	Damage          []errorDetail         `json:"damage"`
	Snapshot        convmem.SnapshotState `json:"snapshot"`
	SnapshotProblem string                `json:"snapshot_problem,omitempty"`
}

func verify(ctx context.Context, c *call) error {
	return c.read(ctx, func(db *convmem.DB) error {
		p := c.progress("verifying", true)
		result, err := db.Verify(ctx, &convmem.VerifyOptions{Progress: p.show})
		p.end()
		if code := convmem.CodeOf(err); code != "" && code != convmem.CodeCorrupt {
			return err
		}
		if printing := c.printVerify(result); printing != nil {
			return printing
		}
		return err
	})
}

func (c *call) printVerify(r convmem.VerifyResult) error {
	d := verifyDocument{"OK", r.Messages, r.Frames, r.Bytes, r.DamageCount, []errorDetail{}, r.Snapshot, r.SnapshotProblem}
	for _, damage := range r.Damage {
		d.Damage = append(d.Damage, newErrorDetail(damage))
		if !c.json {
			if err := c.print(nil, "damage: %s", harmless(damage.Message, "")); err != nil {
				return err
			}
		}
	}
	if r.DamageCount > 0 {
		d.Status = "DAMAGED"
	}
	return c.print(d, "read %s, %d entries, %d bytes: %s; the snapshot is %s",
		number(r.Messages, "message"), r.Frames, r.Bytes, number(r.DamageCount, "damaged place"), snapshot(r))
}

// snapshot says what the snapshot is worth. A bad one costs time and nothing else.
func snapshot(r convmem.VerifyResult) string {
	switch r.Snapshot {
	case convmem.SnapshotUnchecked:
		return "unchecked"
	case convmem.SnapshotNone:
		return "missing, which convmem rebuild makes"
	case convmem.SnapshotGood:
		return "good"
	}
	return string(r.Snapshot) + ", which convmem rebuild replaces: " + harmless(r.SnapshotProblem, "")
}

type salvageDocument struct {
	Status       string            `json:"status"`
	File         string            `json:"file"`
	Frames       int64             `json:"frames"`
	Messages     int64             `json:"messages"`
	SkippedBytes int64             `json:"skipped_bytes"`
	Gaps         []gapDocument     `json:"gaps"`
	Refused      []refusedDocument `json:"refused"`
}

type gapDocument struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Reason string `json:"reason"`
}

type refusedDocument struct {
	MessageID string `json:"message_id"`
	Offset    int64  `json:"offset"`
	Reason    string `json:"reason"`
}

func salvage(ctx context.Context, c *call) error {
	stop := c.spin("saving")
	r, err := convmem.Salvage(ctx, c.arguments[0], c.arguments[1], nil)
	stop()
	if err != nil {
		return err
	}
	d := salvageDocument{c.status(nil), r.File, r.Frames, r.Messages, r.SkippedBytes, []gapDocument{}, []refusedDocument{}}
	for _, gap := range r.Gaps {
		d.Gaps = append(d.Gaps, gapDocument(gap))
	}
	for _, refused := range r.Refused {
		d.Refused = append(d.Refused, refusedDocument{refused.ID, refused.Offset, refused.Reason})
	}
	if err := c.printLosses(d); err != nil {
		return err
	}
	return c.print(d, "saved %s from %d entries of %s: %s, %d bytes skipped, %s refused",
		number(r.Messages, "message"), r.Frames, name(r.File), number(len(r.Gaps), "gap"), r.SkippedBytes, number(len(r.Refused), "message"))
}

// printLosses prints for people what is in the document anyway.
func (c *call) printLosses(d salvageDocument) error {
	if c.json {
		return nil
	}
	for _, gap := range d.Gaps {
		if err := c.print(nil, "gap: %s, %d bytes at offset %d: %s", name(gap.File), gap.Length, gap.Offset, harmless(gap.Reason, "")); err != nil {
			return err
		}
	}
	for _, refused := range d.Refused {
		if err := c.print(nil, "refused: message %s at offset %d: %s", refused.MessageID, refused.Offset, harmless(refused.Reason, "")); err != nil {
			return err
		}
	}
	return nil
}
