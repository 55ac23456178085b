package mcpserver

import (
	"context"
	"log/slog"
)

// loggerOf is the logger of a server.
func loggerOf(o *Options) *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// eachRecord is a slog.Handler that changes records on their way to another.
type eachRecord struct {
	slog.Handler
	// level is that of a record of the given level.
	level func(slog.Level) slog.Level
	// attrs are added to a record.
	attrs func(context.Context) []slog.Attr
}

func (h eachRecord) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(ctx, h.level(level))
}

func (h eachRecord) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.Level = h.level(r.Level)
	r.AddAttrs(h.attrs(ctx)...)
	return h.Handler.Handle(ctx, r)
}

func (h eachRecord) WithAttrs(attrs []slog.Attr) slog.Handler {
	h.Handler = h.Handler.WithAttrs(attrs)
	return h
}

func (h eachRecord) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}

// quiet makes what the SDK has to tell about every connection, which over HTTP
// is every request, a matter of debugging.
func quiet(l *slog.Logger) *slog.Logger {
	lower := func(level slog.Level) slog.Level {
		if level == slog.LevelInfo {
			return slog.LevelDebug
		}
		return level
	}
	return slog.New(eachRecord{l.Handler(), lower, func(context.Context) []slog.Attr { return nil }})
}

// numbered adds the id of the HTTP request to every record that belongs to one.
func numbered(l *slog.Logger) *slog.Logger {
	same := func(level slog.Level) slog.Level { return level }
	return slog.New(eachRecord{l.Handler(), same, func(ctx context.Context) []slog.Attr {
		if id := RequestID(ctx); id != "" {
			return []slog.Attr{slog.String("request", id)}
		}
		return nil
	}})
}
