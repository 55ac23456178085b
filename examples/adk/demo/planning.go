package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"google.golang.org/adk/memory"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/genai"
)

// question is a query and the remark that answers it.
type question struct{ query, answer string }

var questions = []question{
	{"tea", "Please order green tea."},
	{"データベース", "来週までにデータベースの移行を終えます。"},
	{"PostgreSQL", "本番環境ではPostgreSQLを使っています。"},
	{"replica", "The database is called billing and has two replicas."},
	{"what is the database", "The database is called billing and has two replicas."},
}

// answers says for each question how a memory did.
type answers map[question]string

// ask asks a memory every question.
func ask(ctx context.Context, service memory.Service) (answers, error) {
	all := answers{}
	for _, q := range questions {
		response, err := service.SearchMemory(ctx, &memory.SearchRequest{AppName: "planner", UserID: "alice", Query: q.query})
		if err != nil {
			return nil, err
		}
		all[q] = "nothing"
		for i, entry := range response.Memories {
			if entry.Content.Parts[0].Text == q.answer {
				all[q] = fmt.Sprintf("place %d of %d", i+1, len(response.Memories))
			}
		}
	}
	return all, nil
}

// plan is a session in which the answers are given last.
type plan struct{ events []*session.Event }

// planning has forty remarks that share most of their words with the longest question.
func planning() plan {
	var p plan
	for day := range 40 {
		p.say(fmt.Sprintf("On day %d the backup of the database is what we check.", day+1))
	}
	for _, q := range questions[:len(questions)-1] { // the last two have one answer
		p.say(q.answer)
	}
	return p
}

func (p *plan) say(text string) {
	p.events = append(p.events, &session.Event{
		ID: fmt.Sprint("event-", len(p.events)), Author: "user",
		Timestamp:   time.Date(2026, 3, 1, 9, len(p.events), 0, 0, time.UTC),
		LLMResponse: model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleUser)},
	})
}

func (p plan) ID() string                { return "planning" }
func (p plan) AppName() string           { return "planner" }
func (p plan) UserID() string            { return "alice" }
func (p plan) State() session.State      { return nil }
func (p plan) LastUpdateTime() time.Time { return p.events[len(p.events)-1].Timestamp }
func (p plan) Events() session.Events    { return p }
func (p plan) Len() int                  { return len(p.events) }
func (p plan) At(i int) *session.Event   { return p.events[i] }

func (p plan) All() iter.Seq[*session.Event] { return slices.Values(p.events) }
