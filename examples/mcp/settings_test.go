package main

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parsed is settings that begin with the defaults.
func parsed(dir string, change ...func(*settings)) settings {
	s := settings{dir: dir, maxResultBytes: 65536}
	for _, c := range change {
		c(&s)
	}
	return s
}

func listening(ip string, port int, tokens ...string) func(*settings) {
	return func(s *settings) { s.address, s.tokens = &net.TCPAddr{IP: net.ParseIP(ip), Port: port}, tokens }
}

// resolve knows two names and leaves everything else to the system.
func resolve(network, address string) (*net.TCPAddr, error) {
	address = strings.NewReplacer("near.example", "127.0.0.2", "far.example", "192.0.2.7").Replace(address)
	return net.ResolveTCPAddr(network, address)
}

func TestParse(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("# of the team\n\none\r\n  two\n#three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args string
		env  string // of CONVMEM_DIR, and of CONVMEM_TOKEN after a space
		want settings
		says string
	}{
		{"a flag", "-dir /a", "", parsed("/a"), ""},
		{"the environment", "", "/b", parsed("/b"), ""},
		{"both", "-dir /a", "/b", parsed("/a"), ""},
		{"an empty flag", "-dir=", "/b", settings{}, "no directory"},
		{"neither", "", "", settings{}, "give -dir DIR or set CONVMEM_DIR"},
		{"home", "-dir ~/memory", "", parsed("/home/somebody/memory"), ""},
		{"home in the environment", "", "~/memory", parsed("/home/somebody/memory"), ""},
		{"home itself", "-dir ~", "", parsed("/home/somebody"), ""},
		{"somebody else's home", "-dir ~root/x", "", parsed(filepath.Join(here, "~root/x")), ""},
		{"relative", "-dir x/../y", "", parsed(filepath.Join(here, "y")), ""},
		{"a size", "-dir /a -max-result-bytes 1000", "", parsed("/a", func(s *settings) { s.maxResultBytes = 1000 }), ""},
		{"a size of nothing", "-dir /a -max-result-bytes 0", "", settings{}, "at least 1"},
		{"an unknown flag", "-directory /a", "", settings{}, "not defined"},
		{"an argument", "-dir /a /b", "", settings{}, "unexpected argument"},

		{"a log level", "-dir /a -log-level debug", "", parsed("/a", func(s *settings) { s.logLevel = slog.LevelDebug }), ""},
		{"the highest log level", "-dir /a -log-level error", "", parsed("/a", func(s *settings) { s.logLevel = slog.LevelError }), ""},
		{"an unknown log level", "-dir /a -log-level loud", "", settings{}, "want debug, info, warn or error"},
		{"read only", "-dir /a -read-only", "", parsed("/a", func(s *settings) { s.readOnly = true }), ""},
		{"two tools", "-dir /a -tools read_messages,search_messages", "", parsed("/a", func(s *settings) { s.tools = []string{"read_messages", "search_messages"} }), ""},
		{"an unknown tool", "-dir /a -tools read_messages,recall", "", settings{}, `no tool "recall": want some of write_message,update_message`},
		{"no tool", "-dir /a -tools=", "", settings{}, "want some of"},
		{"tools of which none is left", "-dir /a -read-only -tools write_message,rebuild_index", "", settings{}, "leave out one of the flags"},
		{"tools of which one is left", "-dir /a -read-only -tools write_message,get_system_health", "", parsed("/a", func(s *settings) { s.readOnly, s.tools = true, []string{"write_message", "get_system_health"} }), ""},

		{"IPv4", "-dir /a -http 127.0.0.1:80", "", parsed("/a", listening("127.0.0.1", 80)), ""},
		{"IPv6", "-dir /a -http [::1]:0", "", parsed("/a", listening("::1", 0)), ""},
		{"a name of this machine", "-dir /a -http near.example:80", "", parsed("/a", listening("127.0.0.2", 80)), ""},
		{"no host", "-dir /a -http :80", "", settings{}, "set CONVMEM_TOKEN, give -token-file FILE, or listen on 127.0.0.1:80"},
		{"all of IPv4", "-dir /a -http 0.0.0.0:80", "", settings{}, "there is no token"},
		{"all of IPv6", "-dir /a -http [::]:80", "", settings{}, "there is no token"},
		{"an address of the network", "-dir /a -http 192.168.0.1:80", "", settings{}, "there is no token"},
		{"a name of another machine", "-dir /a -http far.example:80", "", settings{}, "192.0.2.7:80, which other machines may reach"},
		{"no port", "-dir /a -http 127.0.0.1", "", settings{}, "missing port"},
		{"no address", "-dir /a -http=", "", settings{}, "want HOST:PORT"},
		{"an exposed address with a token", "-dir /a -http :80", "/b sesame", parsed("/a", listening("", 80, "sesame")), ""},
		{"a token file", "-dir /a -http 0.0.0.0:80 -token-file " + file, "", parsed("/a", listening("0.0.0.0", 80, "one", "two")), ""},
		{"both kinds of tokens", "-token-file " + file + " -http [::1]:80", "/b sesame", parsed("/b", listening("::1", 80, "sesame", "one", "two")), ""},
		{"a token without use", "", "/b sesame", parsed("/b"), ""},
		{"a token file without use", "-dir /a -token-file " + file, "", settings{}, "give -http ADDR too"},
		{"a token file that is missing", "-dir /a -http [::1]:80 -token-file /nowhere", "", settings{}, "-token-file: open /nowhere"},
		{"a token that cannot be sent", "-http [::1]:80", "/b s\u00e9same", settings{}, "CONVMEM_TOKEN: the token has 7 bytes"},
		{"a blank token", "-http [::1]:80", "/b \n", settings{}, "CONVMEM_TOKEN: the token has 0 bytes"},
		{"a token with a newline", "-http [::1]:80", "/b sesame\n", parsed("/b", listening("::1", 80, "sesame")), ""},
		{"origins", "-dir /a -http [::1]:80 -trusted-origin https://a.example -trusted-origin http://b.example:1", "", parsed("/a", listening("::1", 80), func(s *settings) { s.origins = []string{"https://a.example", "http://b.example:1"} }), ""},
		{"an origin with a path", "-dir /a -http [::1]:80 -trusted-origin https://a.example/", "", settings{}, "invalid origin"},
		{"an origin without use", "-dir /a -trusted-origin https://a.example", "", settings{}, "give -http ADDR too"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, token, _ := strings.Cut(c.env, " ")
			environment := map[string]string{"CONVMEM_DIR": dir, "CONVMEM_TOKEN": token}
			getenv := func(name string) string {
				if _, known := environment[name]; !known {
					t.Errorf("asks for %s", name)
				}
				return environment[name]
			}
			got, err := parse(strings.Fields(c.args), surroundings{getenv, resolve, io.Discard})
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(settings{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("says %v, want %q", err, c.says)
			}
			if err != nil && len(token) > 3 && strings.Contains(err.Error(), token) {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
}

func TestParseTokens(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		says       string
	}{
		{"one", "abc", []string{"abc"}, ""},
		{"some", "abc\ndef\n", []string{"abc", "def"}, ""},
		{"comments, blank lines, spaces", "# x\n\n \t\n\tabc  \r\n  # y\ndef#ghi", []string{"abc", "def#ghi"}, ""},
		{"nothing", "", nil, "no token in 0 lines"},
		{"only comments", "# abc\n\n#def", nil, "no token in 3 lines"},
		{"two in a line", "abc\n# x\nhidden hidden", nil, "line 3: the token has 13 bytes"},
		{"no ASCII", "h\u00efdden", nil, "line 1: the token has 7 bytes"},
		{"a control character", "hidden\x00", nil, "line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseTokens(c.text)
			if !slices.Equal(got, c.want) || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q, %v", got, err)
			}
			if err != nil && strings.Contains(err.Error(), "dden") {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
}
