package acl

import (
	"fmt"
	"io"
	"os"
	"strings"

	"seen/internal/vfs"
)

// maxFile is far more than a real list of users needs.
const maxFile = 16 << 20

// Parse reads an ACL file: lines "user NAME RULE RULE ...", empty lines, and comments that
// begin with #. It returns the rights of each user.
func Parse(cs *Commands, text string) (map[string]*Rights, error) {
	users := map[string]*Rights{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if words[0] != "user" || len(words) < 2 {
			return nil, fmt.Errorf("line %d does not begin with \"user NAME\"", number)
		}
		name := words[1]
		if users[name] != nil {
			return nil, fmt.Errorf("line %d: Duplicate user '%s' found. A user can only be defined once in config files", number, name)
		}
		if problem := NameProblem(name); problem != "" {
			return nil, fmt.Errorf("line %d: %s", number, problem)
		}
		r := newRights(cs)
		for _, rule := range words[2:] {
			if problem := r.apply(cs, rule); problem != "" {
				return nil, fmt.Errorf("line %d: Error in user '%s': the rule '%s': %s", number, name, Conceal(rule), problem)
			}
		}
		users[name] = r
	}
	return users, nil
}

// Conceal returns a rule without a password, so that it can be shown.
func Conceal(rule string) string {
	if rule != "" && (rule[0] == '>' || rule[0] == '<') {
		return rule[:1] + "..."
	}
	return rule
}

// ReadFile reads an ACL file with Parse.
func ReadFile(cs *Commands, file string) (map[string]*Rights, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the ACL file: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	_ = f.Close() // it was only read
	if err != nil {
		return nil, fmt.Errorf("the ACL file: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the ACL file %s has more than %d bytes; it is not a list of users", file, maxFile)
	}
	users, err := Parse(cs, string(text))
	if err != nil {
		return nil, fmt.Errorf("the ACL file %s: %w", file, err)
	}
	return users, nil
}

// Replace replaces all users by those of a file and returns the removed ones. The default
// user does not change unless the file has it.
func (a *Users) Replace(found map[string]*Rights) (gone []*User) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.update(func() {
		for name, u := range a.users {
			if found[name] == nil && name != DefaultName {
				delete(a.users, name)
				gone = append(gone, u)
			}
		}
		for name, r := range found {
			a.put(name, r)
		}
	})
	return gone
}

// Save writes all users to the file, with the hashes of their passwords.
func (a *Users) Save() error {
	err := vfs.WritePrivate(vfs.OS, a.File, func(w io.Writer) error {
		for _, u := range a.List() {
			if _, err := fmt.Fprintf(w, "user %s %s\n", u.Name, u.Rights().Describe()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("saving the ACL file: %w", err)
	}
	return nil
}
