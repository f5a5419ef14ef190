package server

import (
	"slices"

	"seen/internal/server/acl"
)

var aclLoadCommand = command{name: "load", arity: 2, flags: forAdmin, handle: aclLoad, since: "6.0.0", complexity: "O(n), n users", summary: "Reads the users from the file."}

var aclSaveCommand = command{name: "save", arity: 2, flags: forAdmin, handle: aclSave, since: "6.0.0", complexity: "O(n), n users", summary: "Writes the users to the file."}

func aclLoad(c *call) {
	if c.server.config.ACLFile == "" {
		c.out.Error(noACLFile)
		return
	}
	if err := c.server.ReloadACL(); err != nil {
		c.out.Error("ERR " + err.Error())
		return
	}
	// The user of this client may be gone.
	if c.server.acl.Get(c.user.Load().Name) != c.user.Load() {
		c.ending = true
	}
	c.out.OK()
}

func aclSave(c *call) {
	if c.server.config.ACLFile == "" {
		c.out.Error(noACLFile)
		return
	}
	if err := c.server.acl.Save(); err != nil {
		c.server.event(Failure, "saving the users failed", "error", err.Error())
		c.out.Error("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
		return
	}
	c.out.OK()
}

// CheckACL reports whether clients can use a server without logging in if it has this ACL
// file and this password ("" for none). The error says what is wrong with the file.
func CheckACL(file, password string) (open bool, err error) {
	users, err := acl.ReadFile(&newTable().acl, file)
	if err != nil {
		return false, err
	}
	if r := users[acl.DefaultName]; r != nil {
		return r.Open(), nil
	}
	return password == "", nil
}

// ReloadACL replaces all users by those of the ACL file, if there is one. If the file has
// an error, nothing changes.
func (s *Server) ReloadACL() error {
	apply, err := s.PrepareUsers(nil)
	if err != nil {
		return err
	}
	apply()
	return nil
}

// PrepareUsers reads and checks the ACL file, if there is one, without changing anything.
// apply then replaces all users by those of the file and closes the connections of removed
// users; it cannot fail. password, unless nil, becomes the password of the default user
// ("" for none) if the file does not have that user.
func (s *Server) PrepareUsers(password *string) (apply func(), err error) {
	var found map[string]*acl.Rights
	if s.acl.File != "" {
		if found, err = acl.ReadFile(&s.table.acl, s.acl.File); err != nil {
			return nil, err
		}
	}
	return func() {
		if password != nil && found[acl.DefaultName] == nil {
			s.acl.SetPassword(*password)
		}
		if found == nil {
			return
		}
		gone := s.acl.Replace(found)
		for _, c := range s.clients.list() {
			if slices.Contains(gone, c.user.Load()) {
				c.drain()
			}
		}
	}, nil
}

const noACLFile = "ERR This server is not configured to use an ACL file; start it with one to keep users. " +
	"Without one, users made by ACL SETUSER are lost when the server stops."
