package adk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"example.com/convmem/examples/adk"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/loadmemorytool"
	"google.golang.org/adk/tool/preloadmemorytool"
	"google.golang.org/genai"
)

// scripted is a model that asks its memory before it answers with all it was told.
type scripted struct {
	query string
	seen  []*model.LLMRequest
}

func (*scripted) Name() string { return "scripted" }

func (s *scripted) GenerateContent(_ context.Context, r *model.LLMRequest, _ bool) iter.Seq2[*model.LLMResponse, error] {
	s.seen = append(s.seen, r)
	last := r.Contents[len(r.Contents)-1].Parts[0]
	answer := genai.NewContentFromText("Understood.", genai.RoleModel)
	switch {
	case last.FunctionResponse != nil:
		told, err := json.Marshal(last.FunctionResponse.Response)
		answer = genai.NewContentFromText(fmt.Sprint("I remember: ", string(told), err), genai.RoleModel)
	case s.query != "":
		answer = genai.NewContentFromFunctionCall("load_memory", map[string]any{"query": s.query}, genai.RoleModel)
	}
	return func(yield func(*model.LLMResponse, error) bool) {
		yield(&model.LLMResponse{Content: answer, TurnComplete: true}, nil)
	}
}

// turn runs an agent once in a new session, adds the session to memory as an
// application does, and returns the last answer.
func turn(t *testing.T, m *adk.Memory, llm *scripted, message string, tools ...tool.Tool) string {
	t.Helper()
	a, err := llmagent.New(llmagent.Config{Name: "helper", Model: llm, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: "app", Agent: a, SessionService: sessions, MemoryService: m, AutoCreateSession: true})
	if err != nil {
		t.Fatal(err)
	}
	answer := ""
	id := strings.ReplaceAll(message, " ", "-")
	for event, err := range r.Run(t.Context(), "alice", id, genai.NewContentFromText(message, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			t.Fatal(err)
		}
		answer = event.Content.Parts[0].Text
	}
	got, err := sessions.Get(t.Context(), &session.GetRequest{AppName: "app", UserID: "alice", SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.AddSessionToMemory(t.Context(), got.Session); err != nil {
		t.Fatal(err)
	}
	return answer
}

// An agent of ADK, with ADK's own tools, remembers what an earlier process was told.
func TestAnAgentRemembersAfterARestart(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	turn(t, adk.NewMemory(db), &scripted{}, "My locker is number 52, behind the gym.")
	db.Close()

	db = open(t, dir)
	answer := turn(t, adk.NewMemory(db), &scripted{query: "locker"}, "Where are my shoes?", loadmemorytool.New())
	if !strings.Contains(answer, "number 52") {
		t.Errorf("the agent that asks its memory says %q", answer)
	}
	db.Close()

	llm := &scripted{}
	turn(t, adk.NewMemory(open(t, dir)), llm, "which locker is it", preloadmemorytool.New())
	instruction := fmt.Sprint(llm.seen[0].Config.SystemInstruction.Parts[0].Text)
	if !strings.Contains(instruction, "user: My locker is number 52") {
		t.Errorf("the agent whose memory is loaded before it answers was told %q", instruction)
	}
}
