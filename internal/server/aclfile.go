package server

import (
	"fmt"
	"io"
	"os"
	"strings"

	"seen/internal/vfs"
)

// maxACLFile is far beyond any real list of users.
const maxACLFile = 16 << 20

// parseACL reads the lines of an ACL file: "user NAME RULE RULE ...", empty ones and
// comments that begin with #. It returns the rights of each user.
func parseACL(t *table, text string) (map[string]*rights, error) {
	users := map[string]*rights{}
	number := 0
	for line := range strings.Lines(text) {
		number++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if words[0] != "user" || len(words) < 2 {
			return nil, fmt.Errorf("line %d: it does not begin with \"user NAME\"", number)
		}
		name := words[1]
		if users[name] != nil {
			return nil, fmt.Errorf("line %d: Duplicate user '%s' found. A user can only be defined once in config files", number, name)
		}
		if !plainPattern(name) {
			return nil, fmt.Errorf("line %d: Usernames can't contain spaces or null characters", number)
		}
		r := newRights(t)
		for _, rule := range words[2:] {
			if problem := r.apply(t, rule); problem != "" {
				return nil, fmt.Errorf("line %d: Error in user '%s': the rule '%s': %s", number, name, concealed(rule), problem)
			}
		}
		users[name] = r
	}
	return users, nil
}

// concealed returns a rule that may be shown: without a password in it.
func concealed(rule string) string {
	if rule != "" && (rule[0] == '>' || rule[0] == '<') {
		return rule[:1] + "..."
	}
	return rule
}

func readACL(t *table, file string) (map[string]*rights, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the ACL file: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxACLFile+1))
	_ = f.Close() // it was only read
	if err != nil {
		return nil, fmt.Errorf("the ACL file: %w", err)
	}
	if len(text) > maxACLFile {
		return nil, fmt.Errorf("the ACL file %s has more than %d bytes; it is not a list of users", file, maxACLFile)
	}
	users, err := parseACL(t, string(text))
	if err != nil {
		return nil, fmt.Errorf("the ACL file %s: %w", file, err)
	}
	return users, nil
}

// CheckACL reports whether the default user, for clients that do not log in, needs no
// password with an ACL file and a password for it ("" for none), or what is wrong
// with the file.
func CheckACL(file, password string) (open bool, err error) {
	users, err := readACL(newTable(), file)
	if err != nil {
		return false, err
	}
	if r := users[defaultUserName]; r != nil {
		return r.enabled && r.open, nil
	}
	return password == "", nil
}

// replace replaces all users by those found in a file, and returns those who are gone.
// The default user stays as it is unless the file names it.
func (a *acl) replace(found map[string]*rights) (gone []*user) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.update(func() {
		for name, u := range a.users {
			if found[name] == nil && name != defaultUserName {
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

// save writes all users to the file, which has the hashes of their passwords.
func (a *acl) save() error {
	err := vfs.WritePrivate(vfs.OS, a.file, func(w io.Writer) error {
		for _, u := range a.list() {
			if _, err := fmt.Fprintf(w, "user %s %s\n", u.name, u.rights.Load().describe()); err != nil {
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
