package recipe

import "strings"

// RedissonConfigKey returns the key of the hash beside the string of the filter name.
func RedissonConfigKey(name string) string {
	if strings.Contains(name, "{") {
		return name + ":config"
	}
	return "{" + name + "}:config"
}
