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
	fmt.Printf("%s\n", c.Append(nil, []byte("jane+news@Bücher.example")))
	// Output: jane@xn--bcher-kva.example
}

func ExampleAppendEmail() {
	fmt.Printf("%s\n", keys.AppendEmail(nil, []byte("Jane Doe <Jane.Doe+news@GMail.com>")))
	// Output: janedoe@gmail.com
}
