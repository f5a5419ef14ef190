package redistest

import (
	"errors"
	"fmt"
	"net"
)

// Master is the name under which the Sentinel of a Pair knows the primary.
const Master = "seen-test"

// A Pair is a primary and its replica, watched by one Sentinel that promotes the
// replica by itself (quorum 1) a second and a half after the primary fell silent.
type Pair struct {
	Servers  [2]*Server // [0] began as the primary
	Sentinel *Server
}

// StartPair starts a primary, its replica and their Sentinel in folders below
// dir, with the lines of config for both servers. It returns when the replica is
// in step and the Sentinel knows it.
func StartPair(dir string, config ...string) (_ *Pair, err error) {
	p := &Pair{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop())
		}
	}()
	if p.Servers[0], err = start(dir, "primary", false, config); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(p.Servers[0].Addr())
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	if p.Servers[1], err = start(dir, "replica", false, append([]string{"replicaof " + host + " " + port}, config...)); err != nil {
		return nil, err
	}
	if err := p.Servers[1].awaitLink(); err != nil {
		return nil, err
	}
	p.Sentinel, err = start(dir, "sentinel", true, []string{
		"sentinel monitor " + Master + " " + host + " " + port + " 1",
		"sentinel down-after-milliseconds " + Master + " 1500",
		"sentinel failover-timeout " + Master + " 2000",
	})
	if err != nil {
		return nil, err
	}
	// By default a Sentinel asks for replicas every ten seconds. When the primary is down it
	// asks every second, and ignores replicas that have been silent for five ping periods; if
	// these are too short it finds no replica, and tries again after four seconds.
	if _, err := p.Sentinel.Do("SENTINEL", "DEBUG", "info-period", "200", "ping-period", "300", "publish-period", "200"); err != nil {
		return nil, err
	}
	return p, p.Await()
}

func (p *Pair) all() []*Server { return []*Server{p.Servers[0], p.Servers[1], p.Sentinel} }

// Primary returns the server that the Sentinel names as the primary.
func (p *Pair) Primary() (*Server, error) {
	v, err := p.Sentinel.Do("SENTINEL", "get-master-addr-by-name", Master)
	if err != nil {
		return nil, err
	}
	if len(v.Elems) == 2 {
		address := net.JoinHostPort(v.Elems[0].Text, v.Elems[1].Text)
		for _, s := range p.Servers {
			if s.Addr() == address {
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("redistest: the Sentinel names no primary of ours: %v", v)
}

// AwaitPrimary returns when the Sentinel names the server as the primary and it
// has taken the part.
func (p *Pair) AwaitPrimary(s *Server) error {
	return await("the promotion of "+s.Addr(), func() (bool, error) {
		now, err := p.Primary()
		if err != nil || now != s {
			return false, err
		}
		role, err := s.Info("replication", "role")
		return role == "master", err
	})
}

// Await returns when both servers run, one of them is the primary and the other
// is in step with it, and the Sentinel knows both.
func (p *Pair) Await() error {
	return await("a pair in step", func() (bool, error) {
		primary, err := p.Primary()
		if err != nil {
			return false, err
		}
		for _, s := range p.Servers {
			if s == primary {
				continue
			}
			if up, err := s.Info("replication", "master_link_status"); err != nil || up != "up" {
				return false, err
			}
		}
		v, err := p.Sentinel.Do("SENTINEL", "replicas", Master)
		if err != nil || len(v.Elems) != 1 {
			return false, err
		}
		fields := v.Elems[0].Elems
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i].Text == "flags" {
				return fields[i+1].Text == "slave", nil
			}
		}
		return false, nil
	})
}

// Stop kills all three.
func (p *Pair) Stop() error { return stop(p.all()) }

// awaitLink returns when a replica is in step with its primary.
func (s *Server) awaitLink() error {
	return await("the replica "+s.Addr(), func() (bool, error) {
		status, err := s.Info("replication", "master_link_status")
		return status == "up", err
	})
}

func stop(servers []*Server) error {
	var all error
	for _, s := range servers {
		if s != nil {
			all = errors.Join(all, s.Kill())
		}
	}
	return all
}
