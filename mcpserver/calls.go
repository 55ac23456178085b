package mcpserver

import (
	"context"

	"example.com/convmem"
)

// This file holds what each tool does once its arguments are checked.

func callWrite(ctx context.Context, c caller, a arguments) (string, error) {
	result, err := c.store.Write(ctx, writeRequest(a))
	if err != nil {
		return "", err
	}
	return encode(writeDocument{Status: statusOK, Replayed: result.Replayed, Message: newMessage(result.Message)})
}

func callUpdate(ctx context.Context, c caller, a arguments) (string, error) {
	result, err := c.store.Update(ctx, updateRequest(a))
	if err != nil {
		return "", err
	}
	return encode(updateDocument{Status: statusOK, Changed: result.Changed, Message: newMessage(result.Message)})
}

func callRead(ctx context.Context, c caller, a arguments) (string, error) {
	switch a.text("view") {
	case viewContext:
		return c.readContext(ctx, a)
	case viewSessions:
		return c.readSessions(ctx, a)
	}
	return c.readHistory(ctx, a)
}

func (c caller) readHistory(ctx context.Context, a arguments) (string, error) {
	if err := a.wanted("session_id", viewHistory); err != nil {
		return "", err
	}
	r := historyRequest(a)
	return fitPage(c.budget, r.Limit, func(limit int) (historyDocument, error) {
		r.Limit = limit
		result, err := c.store.Read(ctx, convmem.ReadRequest{History: &r})
		if err != nil {
			return historyDocument{}, err
		}
		return newHistory(*result.History), nil
	})
}

func (c caller) readSessions(ctx context.Context, a arguments) (string, error) {
	r := sessionsRequest(a)
	return fitPage(c.budget, r.Limit, func(limit int) (sessionsDocument, error) {
		r.Limit = limit
		result, err := c.store.Read(ctx, convmem.ReadRequest{Sessions: &r})
		if err != nil {
			return sessionsDocument{}, err
		}
		return newSessions(*result.Sessions), nil
	})
}

func (c caller) readContext(ctx context.Context, a arguments) (string, error) {
	if err := a.wanted("message_id", viewContext); err != nil {
		return "", err
	}
	result, err := c.store.Read(ctx, convmem.ReadRequest{Context: new(contextRequest(a))})
	if err != nil {
		return "", err
	}
	return fitContext(c.budget, newContext(*result.Context))
}

func callSearch(ctx context.Context, c caller, a arguments) (string, error) {
	r := searchRequest(a)
	result, err := c.store.Search(ctx, r)
	if err != nil {
		return "", err
	}
	return fitSearch(c.budget, newSearch(result, r.ContextSize > 0))
}

func callDelete(ctx context.Context, c caller, a arguments) (string, error) {
	r, err := deleteRequest(a)
	if err != nil {
		return "", err
	}
	result, err := c.store.Delete(ctx, r)
	if err != nil {
		return "", err
	}
	if !result.Deleted {
		return encode(deleteDocument{Status: string(convmem.CodeNotFound)})
	}
	return encode(deleteDocument{Status: statusOK})
}

func callRebuild(ctx context.Context, c caller, _ arguments) (string, error) {
	result, err := c.store.Rebuild(ctx, convmem.RebuildRequest{})
	if err != nil {
		return "", err
	}
	return encode(newRebuild(result))
}

func callHealth(ctx context.Context, c caller, _ arguments) (string, error) {
	result, err := c.store.Health(ctx, convmem.HealthRequest{})
	if err != nil {
		return "", err
	}
	return encode(newHealth(result))
}
