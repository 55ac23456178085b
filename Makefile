# A list of the commands that this project is worked on with. Nothing here sets
# anything up: each line also works typed by hand.

.PHONY: run test race fuzz sweep lint ci rename

run:
	go run ./examples/quickstart

test:
	go test ./...

race:
	go test -race ./...

sweep:
	go test ./store -v -run 'PowerCut|Every' -long

fuzz:
	go test ./store -run '^$$' -fuzz '^FuzzOpen$$' -fuzztime 30s

lint:
	gofmt -l .
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.7.0 ./...

ci:
	.ci/run

# Gives the module its real path: make rename TO=example.org/you/convmem
rename:
	git ls-files '*.go' '*go.mod' '*.md' | xargs sed -i 's#example\.com/convmem#$(TO)#g'
