package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command is in docs/COMMANDS.md, in a section or a row, with the arguments of the
// table. The document has no other commands.
func TestCommandsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "COMMANDS.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections, rows := map[string]string{}, map[string]bool{}
	for i, section := range strings.Split("\n"+string(text), "\n### ") {
		if name, body, _ := strings.Cut(section, "\n"); i > 0 && name == strings.ToUpper(name) {
			sections[name] = body
		}
	}
	_, others, _ := strings.Cut(string(text), "\n## Other commands\n")
	for line := range strings.Lines(others) {
		if words, ok := strings.CutPrefix(line, "| `"); ok && words[:1] == strings.ToUpper(words[:1]) {
			words, _, _ = strings.Cut(words, "`")
			rows[strings.ReplaceAll(words, `\|`, "|")] = true
		}
	}
	for _, cmd := range newTable().commands {
		name := strings.ToUpper(strings.ReplaceAll(cmd.full, "|", " "))
		grammar := strings.TrimSpace(name + " " + cmd.syntax)
		if rows[grammar] {
			delete(rows, grammar)
			continue
		}
		body, ok := sections[name]
		if !ok && len(cmd.subs) > 0 {
			continue // its subcommands are documented
		}
		if !ok {
			t.Errorf("docs/COMMANDS.md has neither a section nor a row for\n%s", grammar)
			continue
		}
		delete(sections, name)
		if !strings.HasPrefix(strings.TrimSpace(body)+"\n", grammar+"\n") {
			t.Errorf("the section of %s does not begin with its words:\n%s", name, grammar)
		}
		for _, part := range []string{"\n- Reply: ", "\n- Errors: ", "\n- Cost: "} {
			if part = strings.TrimSuffix(part, ": "); !strings.Contains(body, part) {
				t.Errorf("the section of %s has no line %q", name, part)
			}
		}
	}
	for name := range sections {
		t.Errorf("docs/COMMANDS.md has a section %s, which is not a command", name)
	}
	for words := range rows {
		t.Errorf("docs/COMMANDS.md has a row for %q, which is not a command", words)
	}
}

func TestOtherTranscripts(t *testing.T) { transcript(t, "others") }

// Every command is in a transcript, ours or one that is compared with Redis.
func TestCommandsAreInTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	called := map[*command]bool{}
	table := newTable()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimPrefix(line, "~ ")
			if _, command, ok := commandLine(line); ok {
				line = command
			} else if filepath.Base(file) != "redis.txt" {
				continue
			}
			words := strings.Fields(line)
			if len(words) == 0 {
				continue
			}
			var args [][]byte
			for _, word := range words {
				args = append(args, []byte(word))
			}
			if cmd := table.find(args); cmd != nil && cmd.takes(len(args)) {
				called[cmd] = true
			}
		}
	}
	for _, cmd := range table.commands {
		if len(cmd.subs) == 0 && !called[cmd] {
			t.Errorf("no transcript in testdata calls %s", cmd.full)
		}
	}
}
