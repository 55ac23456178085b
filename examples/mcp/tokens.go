package main

import (
	"fmt"
	"os"
	"strings"
)

// readTokens returns the tokens of a file, if one is named, and the one from the
// environment, if it is set. Its errors never repeat a token.
func readTokens(file, fromEnvironment string) ([]string, error) {
	var tokens []string
	if fromEnvironment != "" {
		token := strings.TrimSpace(fromEnvironment) // what a file was read into may end in a newline
		if err := checkToken(token); err != nil {
			return nil, fmt.Errorf("CONVMEM_TOKEN: %w", err)
		}
		tokens = append(tokens, token)
	}
	if file == "" {
		return tokens, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-token-file: %w", err)
	}
	more, err := parseTokens(string(data))
	if err != nil {
		return nil, fmt.Errorf("-token-file: %s: %w", file, err)
	}
	return append(tokens, more...), nil
}

// parseTokens returns at least one token or an error.
func parseTokens(text string) ([]string, error) {
	var tokens []string
	number := 0
	for line := range strings.Lines(text) {
		number++
		token := strings.TrimSpace(line)
		if token == "" || token[0] == '#' {
			continue
		}
		if err := checkToken(token); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		tokens = append(tokens, token)
	}
	if tokens == nil {
		return nil, fmt.Errorf("no token in %d lines, want one a line", number)
	}
	return tokens, nil
}

// checkToken refuses what no client can send in a header.
func checkToken(token string) error {
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("the token has %d bytes, want visible ASCII characters without spaces", len(token))
	}
	return nil
}
