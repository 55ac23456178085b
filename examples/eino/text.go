package eino

import (
	"cmp"
	"strings"

	"example.com/convmem"
	"github.com/cloudwego/eino/schema"
)

// EstimateTokens estimates what a message takes in a prompt, as
// [convmem.EstimateTokens] does, from its texts, its reasoning and its calls. Images
// and other files count nothing; the counter of the model is better.
func EstimateTokens(message *schema.Message) int {
	all := append(texts(message), calls(message)...)
	all = append(all, message.ReasoningContent)
	return convmem.EstimateTokens(convmem.Message{Content: strings.Join(all, "\n")})
}

// searchText is the content of the stored message. It is never empty.
func searchText(message *schema.Message) string {
	for _, lines := range [][]string{texts(message), calls(message), kinds(message)} {
		if len(lines) > 0 {
			return strings.Join(lines, "\n")
		}
	}
	return "[empty]"
}

// part is a piece of a message, whichever of eino's lists it stands in.
type part struct {
	kind schema.ChatMessagePartType
	text string
}

func parts(message *schema.Message) []part {
	var all []part
	for _, p := range message.MultiContent {
		all = append(all, part{p.Type, p.Text})
	}
	for _, p := range message.UserInputMultiContent {
		all = append(all, part{p.Type, p.Text})
	}
	for _, p := range message.AssistantGenMultiContent {
		all = append(all, part{p.Type, p.Text})
	}
	return all
}

// texts returns what was said, without empty texts.
func texts(message *schema.Message) []string {
	var lines []string
	if message.Content != "" {
		lines = append(lines, message.Content)
	}
	for _, part := range parts(message) {
		if part.text != "" {
			lines = append(lines, part.text)
		}
	}
	return lines
}

func calls(message *schema.Message) []string {
	var lines []string
	for _, call := range message.ToolCalls {
		line := strings.TrimSpace(call.Function.Name + " " + call.Function.Arguments)
		lines = append(lines, cmp.Or(line, "[call]"))
	}
	return lines
}

// kinds names what has no text.
func kinds(message *schema.Message) []string {
	var lines []string
	if message.ReasoningContent != "" {
		lines = append(lines, "[reasoning]")
	}
	for _, part := range parts(message) {
		kind := strings.TrimSuffix(string(part.kind), "_url")
		lines = append(lines, "["+cmp.Or(kind, "part")+"]")
	}
	return lines
}
