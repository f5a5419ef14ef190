package dashboard

import (
	"fmt"
	"net/http"

	"seen/internal/resp"
	"seen/internal/server/rest"
	"seen/internal/store"
	"seen/internal/web"
)

// A visitor is a user who looks at pages.
type visitor struct {
	*Dashboard
	user User
}

// User returns the name.
func (v *visitor) User() string { return v.user.Name() }

// MayAll reports whether the user may do everything.
func (v *visitor) MayAll() bool { return v.user.MayAll() }

// MayCreate reports whether the user may create Bloom filters, at least of some names.
func (v *visitor) MayCreate() bool { return v.user.MaySome("BF.RESERVE") }

// Valid reports whether the session may go on.
func (v *visitor) Valid() bool { return v.user.Valid() }

// ask runs a command as the visitor. An error reply becomes an error for the visitor.
func (v *visitor) ask(words ...[]byte) (resp.Value, error) {
	answer, err := v.user.Ask(words...)
	if err == nil && answer.Kind == resp.Error {
		err = refusalOf(answer.Text)
	}
	return answer, err
}

// refusalOf returns the error of a command as an error for visitors.
func refusalOf(text string) error {
	status, rest := rest.Status(text)
	return &web.Refused{Status: status, Text: rest}
}

func (v *visitor) do(words ...string) (resp.Value, error) {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	return v.ask(args...)
}

// value returns the value with a name, and its kind, if the visitor may read it.
func (v *visitor) value(name string) (store.Value, *rest.Kind, error) {
	kind, err := v.do("TYPE", name)
	if err != nil {
		return nil, nil, err
	}
	if k := rest.KindOf(kind.Text); k != nil {
		// The command checks the rights of the user and counts in the statistics.
		if _, err := v.do(k.Info, name); err != nil {
			return nil, nil, err
		}
		if value := v.Store.Get([]byte(name)); value != nil && value.Type() == k.Type {
			return value, k, nil
		}
	}
	return nil, nil, &web.Refused{Status: http.StatusNotFound, Text: fmt.Sprintf("There is no filter %q.", name)}
}
