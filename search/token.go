package search

import "example.com/convmem/index"

// token is a term at its place in a text.
type token = index.Token
