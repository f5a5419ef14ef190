package server

import "fmt"

// Clients look for this module before they use the commands of the filters. The version is
// the one that comes with redisVersion.
const (
	moduleName    = "bf"
	moduleVersion = 20802
)

var moduleCommands = section("server", nil, []command{{
	name: "module", arity: -2, flags: flagAlone, since: "4.0.0", complexity: "Depends on the subcommand", summary: "Commands about modules.",
	subs: []command{
		{
			name: "list", arity: 2, flags: flagAdmin | flagNoScript | flagAlone, handle: listModules, since: "4.0.0", complexity: "O(1)",
			summary: "Lists the module whose commands the server has.",
		},
		help("5.0.0"),
	},
}})

func listModules(c *call) {
	c.out.Array(1)
	c.out.Map(4)
	c.fields("name", moduleName, "ver", moduleVersion, "path", "", "args", []string{})
}

func infoModules(_ *Server, line func(string, any)) {
	line("module", fmt.Sprintf("name=%s,ver=%d,api=1,filters=0,usedby=[],using=[],options=[]", moduleName, moduleVersion))
}
