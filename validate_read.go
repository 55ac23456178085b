package convmem

import (
	"fmt"
	"strconv"
	"time"
)

// checkTime checks a moment in whole milliseconds; the zero Time means "not
// given".
func checkTime(field string, t time.Time) error {
	if t.IsZero() {
		return nil
	}
	if t.Before(time.UnixMilli(0)) || t.After(time.UnixMilli(maxUnixMilli+1).Add(-1)) {
		return invalid(field, "%s, want a time from 0 to %d Unix milliseconds", describeTime(t), int64(maxUnixMilli))
	}
	return nil
}

// describeTime gives a time in Unix milliseconds, or by its year where the number
// would wrap around.
func describeTime(t time.Time) string {
	if year := t.UTC().Year(); year < -1_000_000 || year > 1_000_000 {
		return fmt.Sprintf("year %d", year)
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

func checkContentCut(characters int) error {
	return checkOptional("max_content_characters", characters, MaxContentBytes)
}

// view names the one view that is asked for.
func (r ReadRequest) view() (string, error) {
	var given []string
	if r.History != nil {
		given = append(given, "history")
	}
	if r.Context != nil {
		given = append(given, "context")
	}
	if r.Sessions != nil {
		given = append(given, "sessions")
	}
	if len(given) != 1 {
		return "", invalid("view", "%d given, want exactly one of history, context and sessions", len(given))
	}
	return given[0], nil
}

// withDefaults returns the request with every value filled in.
func (r HistoryRequest) withDefaults() HistoryRequest {
	if r.Order == "" {
		r.Order = OrderAscending
	}
	if r.Limit == 0 {
		r.Limit = DefaultReadLimit
	}
	return r
}

// check checks a request whose defaults are filled in, except its cursor.
func (r HistoryRequest) check() error {
	return firstError(
		checkSession(r.SessionID),
		checkOneOf("order", r.Order, []Order{OrderAscending, OrderDescending}),
		checkRange("limit", r.Limit, 1, MaxReadLimit),
		checkOptional("max_characters", r.MaxCharacters, MaxCharacterBudget),
		checkContentCut(r.MaxContentCharacters),
	)
}

// contextPlan is a context request with every value filled in.
type contextPlan struct {
	before, after, depth int
	types                []RelationType
	cut                  int
}

func (r ContextRequest) plan() (contextPlan, error) {
	p := contextPlan{
		before: valueOr(r.Before, DefaultNeighbours),
		after:  valueOr(r.After, DefaultNeighbours),
		depth:  valueOr(r.RelationDepth, DefaultRelationDepth),
		types:  r.RelationTypes,
		cut:    r.MaxContentCharacters,
	}
	return p, firstError(
		checkRange("before", p.before, 0, MaxNeighbours),
		checkRange("after", p.after, 0, MaxNeighbours),
		checkRange("relation_depth", p.depth, 0, MaxRelationDepth),
		checkEach("relation_types", p.types, relationTypes),
		checkContentCut(p.cut),
	)
}

func valueOr(given *int, otherwise int) int {
	if given == nil {
		return otherwise
	}
	return *given
}

func (r SessionsRequest) withDefaults() SessionsRequest {
	if r.Limit == 0 {
		r.Limit = DefaultReadLimit
	}
	return r
}

// check checks a request whose defaults are filled in, except its cursor.
func (r SessionsRequest) check() error {
	return firstError(
		checkRange("limit", r.Limit, 1, MaxReadLimit),
		checkContentCut(r.MaxContentCharacters),
	)
}

func (r SearchRequest) withDefaults() SearchRequest {
	if r.Limit == 0 {
		r.Limit = DefaultSearchLimit
	}
	return r
}

// check checks a request whose defaults are filled in.
func (r SearchRequest) check() error {
	return firstError(
		checkText("query", r.Query, 1, MaxQueryBytes),
		checkText("session_id", r.SessionID, 0, MaxSessionIDBytes),
		r.Filters.check(),
		checkRange("min_importance", r.MinImportance, 0, MaxImportance),
		checkRange("context_size", r.ContextSize, 0, MaxContextSize),
		checkRange("limit", r.Limit, 1, MaxSearchLimit),
		checkContentCut(r.MaxContentCharacters),
	)
}

// check bounds tags as a message does, because no message could have more.
func (f Filters) check() error {
	return firstError(
		checkEach("kinds", f.Kinds, kinds),
		checkEach("tiers", f.Tiers, tiers),
		checkTags("tags", f.Tags),
		checkEach("roles", f.Roles, roles),
		checkTime("since", f.Since),
		checkTime("until", f.Until),
	)
}
