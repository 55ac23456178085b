//go:build race

package mcpserver

const raceDetector = true
