package convmem_test

import (
	"context"
	"fmt"
	"strings"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// The newest messages that fit, with the instructions in front and every result
// behind its call. The oldest question does not fit any more.
func ExampleWindow() {
	ctx := context.Background()
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, m := range []struct {
		role    convmem.Role
		call    string
		content string
	}{
		{convmem.RoleSystem, "", "You are terse."},
		{convmem.RoleUser, "", "Hello."},
		{convmem.RoleUser, "", "How is the weather in Oslo?"},
		{convmem.RoleAssistant, "call-1", `weather(city="Oslo")`},
		{convmem.RoleTool, "call-1", "4 degrees, rain"},
		{convmem.RoleAssistant, "", "Wet."},
		{convmem.RoleAssistant, "call-2", `umbrella()`}, // no result yet
	} {
		_, err := db.Write(ctx, convmem.WriteRequest{
			SessionID: "oslo", Role: m.role, Content: m.content, Metadata: convmem.MetadataPatch{ToolCallID: &m.call},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	window, err := convmem.Window(ctx, db, convmem.WindowRequest{SessionID: "oslo", MaxMessages: 5, KeepSystem: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range window.Messages {
		fmt.Println(m.Role, m.Content)
	}
	fmt.Println("tokens:", window.Tokens, "omitted:", window.Omitted)
	// Output:
	// system You are terse.
	// user How is the weather in Oslo?
	// assistant weather(city="Oslo")
	// tool 4 degrees, rain
	// assistant Wet.
	// tokens: 44 omitted: true
}

// A counter of one's own: here words, for a model that charges by them.
func ExampleWindow_countTokens() {
	ctx := context.Background()
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, content := range []string{"one two three", "four five", "six"} {
		if _, err := db.Write(ctx, convmem.WriteRequest{SessionID: "s", Role: convmem.RoleUser, Content: content}); err != nil {
			fmt.Println(err)
			return
		}
	}
	words := func(m convmem.Message) int { return len(strings.Fields(m.Content)) }
	window, err := convmem.Window(ctx, db, convmem.WindowRequest{SessionID: "s", MaxTokens: 4, CountTokens: words})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range window.Messages {
		fmt.Println(m.Content)
	}
	fmt.Println("words:", window.Tokens)
	// Output:
	// four five
	// six
	// words: 3
}
