package seen_test

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// phrases are turns over which readers stumble, as patterns for a part of a line, and
// what to write instead.
var phrases = plain([][2]string{
	{`\bis no [a-z]+`, "is not a ..."},
	{`\b(?:are|was|were|be|been) no [a-z]+`, "are not ..."},
	{`\bnone of (?:it|its|the|them|these|those|which|whose)\b`, "no ..."},
	{`\b(?:it|that|which) is none\b`, "is no ..., does not exist"},
	{`\b(?:[Ww]hoever|[Ww]homever|whom|whosoever)\b`, "name the user, the caller or the program"},
	{`\b(?:to|of|by|for|from|with) who\b`, "name the user, the caller or the program"},
	{`(?:^|[;:,.(] ?|\band |\bor |\bbut |\bto |\bof )[Ww]ho (?:reads|asks|adds|writes|calls|wants|runs|knows|sees|begins|comes|needs|uses|gives|sends)\b`, "name the user, the caller or the program"},
	{`\b(?:lie|lies|lay|lain|stand|stands|stood|live|lives|lived)\b (?:in|at|on|behind|before|beside|under|there|here|where|together|ready|side|apart|by|within|inside|between|outside)\b`, "is in, is at"},
	{`\b(?:0|[Nn]il) stands for\b`, "means"},
	{`\bneed not\b`, "does not have to"},
	{`\b(?:cannot|can not|could not) be had\b`, "is impossible, is not available"},
	{`\b(?:taken?|takes|took) for an?\b`, "treated as, mistaken for"},
	{`\bbesides\b`, "also"},
	{`\b(?:lest|whilst|amongst|upon|whence|whereby|wherein|whereof|thereof|thereby|therein|thereto|hitherto|henceforth|nought|albeit|ere|yonder|thus far|insofar)\b`, "the common word"},
	{`\bas yet\b`, "yet"},
	{`\bfor want of\b`, "without"},
	{`\bso as to\b`, "to"},
	{`\bin so far as\b`, "where"},
	{`\bsave for\b`, "except"},
	{`\bbut for\b`, "except"},
	{`\bof (?:its|their|his) own accord\b`, "by itself, automatically"},
	{`\b[Tt]hat is what all\b`, "name it"},
	{`\b(?:is|are) (?:wanted|to be had)\b`, "is required"},
	{`\bway out\b`, "what to do"},
	{`\binnards\b`, "internals"},
	{`\bnobody\b`, "no one ..., name the user or program"},
	{`\bmakes? whole\b|\bmade whole\b`, "repair"},
	{`\bof use\b`, "useful"},
	{`\bin vain\b`, "without success"},
	{`\bto and fro\b`, "back and forth"},
	{`\bbe (?:it|they) [a-z]+\b`, "whether ..."},
	{`\b(?:ask|asks|asked) after\b`, "ask about, ask for"},
	{`\bby name of\b`, "named"},
	{`\bshall\b`, "must, will"},
	{`\bwere (?:it|they|there) \b`, "if ..."},
	{`\bhad (?:it|they|there) been\b`, "if ..."},
	{`\b(?:in|to|at|for) (?:several|many|some|all) of which\b`, "split the sentence"},
})

type phrase struct {
	banned  *regexp.Regexp
	instead string
}

func plain(pairs [][2]string) (all []phrase) {
	for _, p := range pairs {
		all = append(all, phrase{regexp.MustCompile(p[0]), p[1]})
	}
	return all
}

// notBanned are uses of the word no that are plain.
var notBanned = regexp.MustCompile(`\b([Tt]here|[Tt]hat) (is|are|was|were) no\b|\b(is|are|was|were|be) no (longer|more|less)\b`)

// textsArePlain reads documents and pages, and the strings and comments of the product.
func textsArePlain(s *source) (violations []string) {
	read := func(at func(line int) string, text string) {
		for i, line := range strings.Split(text, "\n") {
			line := notBanned.ReplaceAllString(line, "")
			for _, p := range phrases {
				if found := p.banned.FindString(line); found != "" {
					violations = append(violations, fmt.Sprintf("%s: %q: %s", at(i), strings.TrimSpace(found), p.instead))
				}
			}
		}
	}
	for name, text := range s.texts {
		if path.Ext(name) == ".md" || path.Ext(name) == ".html" {
			read(func(line int) string { return fmt.Sprintf("%s:%d", name, line+1) }, text)
		}
	}
	for _, f := range s.files {
		if f.test() || f.outside() || f.generator() {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				read(func(line int) string { return fmt.Sprintf("%s:%d", f.path, s.set.Position(c.Pos()).Line+line) }, c.Text)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.BasicLit:
				if text, ok := literal(n); ok {
					read(func(int) string { return s.at(f, n.Pos()) }, text)
				}
			}
			return true
		})
	}
	return violations
}
