package keys_test

import (
	"fmt"

	"seen/keys"
)

func ExampleURL() {
	for _, raw := range []string{"HTTP://Example.com:80/a/../b%7e#top", "http://example.com/b~", "/b~"} {
		key, err := keys.URL(raw)
		fmt.Println(key, err)
	}
	// Output:
	// http://example.com/b~ <nil>
	// http://example.com/b~ <nil>
	//  "/b~" is not a URL: it has no scheme, such as https:
}

func ExampleURLForm_Append() {
	form, err := keys.NewURL(keys.URLConfig{SortQuery: true, DropTracking: true, Drop: []string{"session*"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var key []byte
	for _, raw := range []string{"https://shop.example?b=2&a=1", "https://shop.example/?a=1&utm_source=mail&sessionid=7&b=2"} {
		if key, err = form.Append(key[:0], []byte(raw)); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", key)
	}
	// Output:
	// https://shop.example/?a=1&b=2
	// https://shop.example/?a=1&b=2
}

func ExampleEmailConfig_Append() {
	c := keys.EmailConfig{DropTags: true}
	key, err := c.Append(nil, []byte("jane+news@Bücher.example"))
	fmt.Printf("%s %v\n", key, err)
	// Output: jane@xn--bcher-kva.example <nil>
}

func ExampleAppendEmail() {
	for _, text := range []string{"Jane Doe <Jane.Doe+news@GMail.com>", "id,email,subject"} {
		key, err := keys.AppendEmail(nil, []byte(text))
		fmt.Printf("%s %v\n", key, err)
	}
	// Output:
	// janedoe@gmail.com <nil>
	//  "id,email,subject" is not a mail address: it has no @
}
