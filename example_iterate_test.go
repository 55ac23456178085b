package convmem_test

import (
	"context"
	"fmt"
	"time"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// diary opens a store in memory that has two sessions, written a day apart from
// 1 May 2026 on.
func diary(ctx context.Context) (*convmem.DB, error) {
	now := time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0), Now: func() time.Time { return now }})
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		session, content string
		tier             convmem.MemoryTier
	}{
		{"garden", "Sowed the beans.", convmem.TierLong},
		{"garden", "It rains.", convmem.TierShort},
		{"kitchen", "The kettle leaks.", convmem.TierMid},
		{"kitchen", "Tea is out.", convmem.TierShort},
	} {
		_, err := db.Write(ctx, convmem.WriteRequest{
			SessionID: m.session, Role: convmem.RoleUser, Content: m.content, Metadata: convmem.MetadataPatch{Tier: m.tier},
		})
		if err != nil {
			db.Close()
			return nil, err
		}
		now = now.AddDate(0, 0, 1)
	}
	return db, nil
}

func ExampleAllMessages() {
	ctx := context.Background()
	db, err := diary(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	newestFirst := convmem.HistoryRequest{SessionID: "garden", Order: convmem.OrderDescending}
	for message, err := range convmem.AllMessages(ctx, db, newestFirst) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(message.Timestamp.Format(time.DateOnly), message.Content)
	}
	// Output:
	// 2026-05-02 It rains.
	// 2026-05-01 Sowed the beans.
}

func ExampleAllSessions() {
	ctx := context.Background()
	db, err := diary(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for session, err := range convmem.AllSessions(ctx, db, convmem.SessionsRequest{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %d messages, %s\n", session.SessionID, session.MessageCount, session.RepresentativeSummary)
	}
	// Output:
	// kitchen: 2 messages, Tea is out.
	// garden: 2 messages, It rains.
}
