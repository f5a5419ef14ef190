package redistest

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Slots is the number of slots of a Redis Cluster.
const Slots = 16384

// A Cluster is a Redis Cluster of three primaries with a replica each. A primary
// that has been silent for two seconds is replaced.
type Cluster struct {
	Nodes []*Server
	ids   map[string]*Server // by the name that the cluster gave
}

// StartCluster starts the six nodes in folders below dir, with the lines of
// config for each, and makes them one cluster (redis-cli --cluster create). It
// returns when all nodes agree about all slots and the replicas are in step.
func StartCluster(dir string, config ...string) (_ *Cluster, err error) {
	c := &Cluster{ids: map[string]*Server{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	cli, err := Program("redis-cli")
	if err != nil {
		return nil, err
	}
	config = append([]string{"cluster-enabled yes", "cluster-node-timeout 2000", "cluster-replica-validity-factor 0"}, config...)
	args := []string{"--cluster", "create"}
	for range 6 {
		node, err := start(dir, "node", false, config)
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, node)
		id, err := node.Do("CLUSTER", "MYID")
		if err != nil {
			return nil, err
		}
		c.ids[id.Text] = node
		args = append(args, node.Addr())
	}
	// The yes is for the question whether the plan is accepted.
	if out, err := exec.Command(cli, append(args, "--cluster-replicas", "1", "--cluster-yes")...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("redistest: redis-cli --cluster create: %w\n%s", err, out)
	}
	return c, c.Await()
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Addr())
	}
	return all
}

// Await returns when all nodes that run agree about who holds which slots, every
// primary has a replica in step with it, and all slots are held. Nodes that are
// down make it wait for their replacement only.
func (c *Cluster) Await() error {
	return await("a cluster in order", func() (bool, error) {
		var first string
		for _, n := range c.Nodes {
			if !n.Running() {
				return false, nil
			}
			state, err := n.Do("CLUSTER", "INFO")
			if err != nil || !strings.Contains(state.Text, "cluster_state:ok") || !strings.Contains(state.Text, "cluster_slots_ok:16384") {
				return false, err
			}
			view, err := n.view()
			if err != nil {
				return false, err
			}
			if first == "" {
				first = view
			}
			if view != first || strings.Count(view, "master") != 3 || strings.Count(view, "slave") != 3 || strings.Contains(view, "fail") {
				return false, nil
			}
			role, err := n.Info("replication", "role")
			if err != nil {
				return false, err
			}
			if role == "slave" {
				if up, err := n.Info("replication", "master_link_status"); err != nil || up != "up" {
					return false, err
				}
			}
		}
		return true, nil
	})
}

// Running reports whether the process runs.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs()
}

// view is what a node believes of the cluster, in a form that is the same for
// all nodes that believe the same.
func (s *Server) view() (string, error) {
	v, err := s.Do("CLUSTER", "NODES")
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(v.Text) {
		// id, address, flags, primary, ping, pong, epoch, link, slots
		f := strings.Fields(line)
		if len(f) < 8 {
			return "", fmt.Errorf("redistest: CLUSTER NODES of %s says %q", s.address, line)
		}
		flags := strings.TrimPrefix(f[2], "myself,")
		lines = append(lines, strings.Join(append([]string{f[0], flags, f[3]}, f[8:]...), " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// Owner returns the node that holds a slot, as the others say.
func (c *Cluster) Owner(slot int) (*Server, error) {
	var last error
	for _, n := range c.Nodes {
		if !n.Running() {
			continue
		}
		v, err := n.Do("CLUSTER", "SLOTS")
		if err != nil {
			last = err
			continue
		}
		for _, r := range v.Elems {
			if len(r.Elems) > 2 && int(r.Elems[0].Int) <= slot && slot <= int(r.Elems[1].Int) && len(r.Elems[2].Elems) > 2 {
				return c.ids[r.Elems[2].Elems[2].Text], nil
			}
		}
		last = fmt.Errorf("redistest: %s knows no holder of slot %d", n.address, slot)
	}
	return nil, last
}

// AwaitOwner returns when another node than the given one holds the slot and all
// nodes that run say that the cluster is whole.
func (c *Cluster) AwaitOwner(slot int, not *Server) error {
	return await("another owner of slot "+strconv.Itoa(slot), func() (bool, error) {
		if now, err := c.Owner(slot); err != nil || now == not {
			return false, nil
		}
		for _, n := range c.Nodes {
			if n == not {
				continue
			}
			state, err := n.Do("CLUSTER", "INFO")
			if err != nil || !strings.Contains(state.Text, "cluster_state:ok") {
				return false, err
			}
		}
		return true, nil
	})
}

// Slot returns the slot of a key.
func (c *Cluster) Slot(key string) (int, error) {
	v, err := c.Nodes[0].Do("CLUSTER", "KEYSLOT", key)
	return int(v.Int), err
}

// Primaries returns the nodes that hold slots.
func (c *Cluster) Primaries() ([]*Server, error) {
	var all []*Server
	for slot := 0; slot < Slots; slot += Slots / 64 {
		n, err := c.Owner(slot)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all, nil
}

// MoveSlot moves a slot with its keys to another primary, as resharding does.
// It calls during, which may be nil, while the slot is half moved: the new owner has no
// keys yet, then all, and clients may ask either node.
func (c *Cluster) MoveSlot(slot int, to *Server, during func()) error {
	from, err := c.Owner(slot)
	if err != nil || from == to {
		return err
	}
	name := map[*Server]string{}
	for id, n := range c.ids {
		name[n] = id
	}
	host, port, err := net.SplitHostPort(to.Addr())
	if err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	s := strconv.Itoa(slot)
	if _, err := to.Do("CLUSTER", "SETSLOT", s, "IMPORTING", name[from]); err != nil {
		return err
	}
	if _, err := from.Do("CLUSTER", "SETSLOT", s, "MIGRATING", name[to]); err != nil {
		return err
	}
	if during != nil {
		during()
	}
	for {
		keys, err := from.Do("CLUSTER", "GETKEYSINSLOT", s, "100")
		if err != nil {
			return err
		}
		if len(keys.Elems) == 0 {
			break
		}
		for _, k := range keys.Elems {
			if _, err := from.Do("MIGRATE", host, port, k.Text, "0", "5000"); err != nil {
				return err
			}
		}
	}
	if during != nil {
		during()
	}
	// The new owner is told first, so that no node takes the slot for lost.
	for _, n := range append([]*Server{to, from}, c.Nodes...) {
		role, err := n.Info("replication", "role")
		if err != nil {
			return err
		}
		if role == "master" {
			if _, err := n.Do("CLUSTER", "SETSLOT", s, "NODE", name[to]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Stop kills all nodes.
func (c *Cluster) Stop() error { return stop(c.Nodes) }
