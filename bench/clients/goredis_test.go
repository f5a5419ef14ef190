package clients

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestGoRedis calls every method of go-redis for the four families, in both protocols,
// and compares the results with testdata/goredis-*.txt.
func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			c := redis.NewClient(&redis.Options{Addr: startServer(t), Protocol: protocol, MaxRetries: -1, ReadTimeout: time.Minute})
			defer c.Close()
			var out strings.Builder
			calls := goRedisCalls(t.Context(), c)
			for _, family := range calls {
				for _, call := range family {
					fmt.Fprintln(&out, printed(call()))
				}
				fmt.Fprintln(&out)
			}
			golden(t, fmt.Sprintf("goredis-resp%d.txt", protocol), out.String())
			calledAll(t, out.String())
		})
	}
}

// printed returns the text of a call with its result. The library prints the error for
// a missing value like any other error.
func printed(cmd redis.Cmder) string {
	if errors.Is(cmd.Err(), redis.Nil) {
		return strings.TrimSuffix(cmd.String(), redis.Nil.Error()) + "(nil)"
	}
	quoted := strconv.Quote(cmd.String()) // it may contain bytes of dumps
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

type goRedisCall = func() redis.Cmder

func goRedisCalls(ctx context.Context, c *redis.Client) [][]goRedisCall {
	return [][]goRedisCall{bloomCalls(ctx, c), cuckooCalls(ctx, c), countMinCalls(ctx, c), topKCalls(ctx, c)}
}

func bloomCalls(ctx context.Context, c *redis.Client) []goRedisCall {
	var dumped []redis.ScanDump
	calls := []goRedisCall{
		func() redis.Cmder { return c.BFReserve(ctx, "b", 0.01, 1000) },
		func() redis.Cmder { return c.BFReserve(ctx, "b", 0.01, 1000) },
		func() redis.Cmder { return c.BFReserve(ctx, "bad", 2, 1000) },
		func() redis.Cmder { return c.BFReserveExpansion(ctx, "grows", 0.001, 100, 4) },
		func() redis.Cmder { return c.BFReserveNonScaling(ctx, "fixed", 0.001, 2) },
		func() redis.Cmder {
			return c.BFReserveWithArgs(ctx, "args", &redis.BFReserveOptions{Capacity: 200, Error: 0.02, Expansion: 3})
		},
		func() redis.Cmder {
			return c.BFReserveWithArgs(ctx, "bad", &redis.BFReserveOptions{Capacity: 200, Error: 0.02, Expansion: 3, NonScaling: true})
		},
		func() redis.Cmder { return c.Do(ctx, "BF.RESERVE", "moves", 0.01, 100, "LAYOUT", "redisbloom") },
		func() redis.Cmder { return c.BFAdd(ctx, "b", "one") },
		func() redis.Cmder { return c.BFAdd(ctx, "b", "one") },
		func() redis.Cmder { return c.BFMAdd(ctx, "b", "one", "two", "three") },
		func() redis.Cmder { return c.BFMAdd(ctx, "fixed", "one", "two", "three") },
		func() redis.Cmder { return c.BFAdd(ctx, "fixed", "three") },
		func() redis.Cmder { return c.BFAdd(ctx, "made", "one") },
		func() redis.Cmder {
			return c.BFInsert(ctx, "inserted", &redis.BFInsertOptions{Capacity: 500, Error: 0.001, Expansion: 2}, "one", "two")
		},
		func() redis.Cmder {
			return c.BFInsert(ctx, "absent", &redis.BFInsertOptions{NoCreate: true}, "one")
		},
		func() redis.Cmder { return c.BFExists(ctx, "b", "one") },
		func() redis.Cmder { return c.BFExists(ctx, "b", "four") },
		func() redis.Cmder { return c.BFExists(ctx, "absent", "one") },
		func() redis.Cmder { return c.BFMExists(ctx, "b", "one", "four", "three") },
		func() redis.Cmder { return c.BFCard(ctx, "b") },
		func() redis.Cmder { return c.BFCard(ctx, "absent") },
		func() redis.Cmder { return c.BFInfo(ctx, "b") },
		func() redis.Cmder { return c.BFInfo(ctx, "absent") },
		func() redis.Cmder { return c.BFInfo(ctx, "moves") },
		func() redis.Cmder { return c.BFInfoCapacity(ctx, "b") },
		func() redis.Cmder { return c.BFInfoSize(ctx, "moves") },
		func() redis.Cmder { return c.BFInfoFilters(ctx, "b") },
		func() redis.Cmder { return c.BFInfoItems(ctx, "b") },
		func() redis.Cmder { return c.BFInfoExpansion(ctx, "b") },
		func() redis.Cmder { return c.BFInfoExpansion(ctx, "fixed") },
		func() redis.Cmder { return c.BFInfoArg(ctx, "b", "COLOUR") },
		func() redis.Cmder { return c.Do(ctx, "BF.DEBUG", "moves") },
		func() redis.Cmder { return c.BFMAdd(ctx, "moves", "one", "two") },
	}
	// Copy a filter chunk by chunk, as a user does. Only the filter in the compatible
	// layout has the same bytes in every data directory.
	for i := range 3 {
		calls = append(calls, func() redis.Cmder {
			var at int64
			if i > 0 {
				at = dumped[i-1].Iter
			}
			cmd := c.BFScanDump(ctx, "moves", at)
			dumped = append(dumped, cmd.Val())
			return cmd
		})
	}
	for i := range 2 {
		calls = append(calls, func() redis.Cmder { return c.BFLoadChunk(ctx, "moved", dumped[i].Iter, dumped[i].Data) })
	}
	return append(calls,
		func() redis.Cmder { return c.BFMExists(ctx, "moved", "one", "two", "three") },
		func() redis.Cmder { return c.BFLoadChunk(ctx, "bad", 7, "x") },
		func() redis.Cmder { return c.Do(ctx, "BF.RESERVE", "c", 0.01, 1000) },
		func() redis.Cmder { return c.BFMAdd(ctx, "c", "three", "four") },
		func() redis.Cmder { return c.Do(ctx, "BF.UNIONCARD", "b", "c") },
		func() redis.Cmder { return c.Do(ctx, "BF.INTERCARD", "b", "c") },
		func() redis.Cmder { return c.Do(ctx, "BF.MERGE", "all", "b", "c") },
		func() redis.Cmder { return c.BFMExists(ctx, "all", "one", "two", "three", "four", "five") },
		func() redis.Cmder { return c.Do(ctx, "BF.CLEAR", "all") },
		func() redis.Cmder { return c.BFMExists(ctx, "all", "one", "two", "three", "four", "five") },
		func() redis.Cmder { return c.Do(ctx, "BF.WINDOW", "today", 0.01, 1000, "24h") },
		func() redis.Cmder { return c.BFAdd(ctx, "today", "one") },
		func() redis.Cmder { return c.BFAdd(ctx, "today", "one") },
		func() redis.Cmder { return c.Type(ctx, "b") },
	)
}

func cuckooCalls(ctx context.Context, c *redis.Client) []goRedisCall {
	var dumped []redis.ScanDump
	return []goRedisCall{
		func() redis.Cmder { return c.CFReserve(ctx, "c1", 1000) },
		func() redis.Cmder { return c.CFReserve(ctx, "c1", 1000) },
		func() redis.Cmder { return c.CFReserve(ctx, "bad", 1) },
		func() redis.Cmder { return c.CFReserveExpansion(ctx, "c2", 1000, 4) },
		func() redis.Cmder { return c.CFReserveBucketSize(ctx, "c3", 1000, 8) },
		func() redis.Cmder { return c.CFReserveMaxIterations(ctx, "c4", 1000, 50) },
		func() redis.Cmder {
			return c.CFReserveWithArgs(ctx, "c5", &redis.CFReserveOptions{Capacity: 500, BucketSize: 4, MaxIterations: 30, Expansion: 2})
		},
		func() redis.Cmder { return c.CFAdd(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFAdd(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFAddNX(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFAddNX(ctx, "c1", "two") },
		func() redis.Cmder {
			return c.CFInsert(ctx, "c6", &redis.CFInsertOptions{Capacity: 100}, "one", "one", "two")
		},
		func() redis.Cmder { return c.CFInsertNX(ctx, "c6", nil, "one", "three") },
		func() redis.Cmder {
			return c.CFInsert(ctx, "absent", &redis.CFInsertOptions{NoCreate: true}, "one")
		},
		func() redis.Cmder { return c.CFExists(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFExists(ctx, "c1", "three") },
		func() redis.Cmder { return c.CFMExists(ctx, "c1", "one", "two", "three") },
		func() redis.Cmder { return c.CFCount(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFCount(ctx, "absent", "one") },
		func() redis.Cmder { return c.CFDel(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFDel(ctx, "c1", "three") },
		func() redis.Cmder { return c.CFDel(ctx, "absent", "one") },
		func() redis.Cmder { return c.CFCount(ctx, "c1", "one") },
		func() redis.Cmder { return c.CFInfo(ctx, "c1") },
		func() redis.Cmder { return c.CFInfo(ctx, "c5") },
		func() redis.Cmder { return c.CFInfo(ctx, "absent") },
		func() redis.Cmder { return c.Do(ctx, "CF.DEBUG", "c5") },
		func() redis.Cmder { return c.Do(ctx, "CF.COMPACT", "c1") },
		// The bytes depend on the secret; their number does not.
		func() redis.Cmder {
			cmd := c.CFScanDump(ctx, "c1", 0)
			dumped = append(dumped, cmd.Val())
			cmd.SetVal(redis.ScanDump{Iter: cmd.Val().Iter, Data: fmt.Sprint(len(cmd.Val().Data), " bytes")})
			return cmd
		},
		func() redis.Cmder {
			cmd := c.CFScanDump(ctx, "c1", dumped[0].Iter)
			dumped = append(dumped, cmd.Val())
			cmd.SetVal(redis.ScanDump{Iter: cmd.Val().Iter, Data: fmt.Sprint(len(cmd.Val().Data), " bytes")})
			return cmd
		},
		func() redis.Cmder { return c.CFScanDump(ctx, "c1", dumped[1].Iter) },
		func() redis.Cmder { return c.CFScanDump(ctx, "absent", 0) },
		func() redis.Cmder { return hidden(c.CFLoadChunk(ctx, "moved2", dumped[0].Iter, dumped[0].Data)) },
		func() redis.Cmder { return hidden(c.CFLoadChunk(ctx, "moved2", dumped[1].Iter, dumped[1].Data)) },
		func() redis.Cmder { return c.CFMExists(ctx, "moved2", "one", "two", "three") },
		func() redis.Cmder { return c.CFLoadChunk(ctx, "bad", 1, "x") },
		func() redis.Cmder { return c.Type(ctx, "c1") },
	}
}

// hidden is a command without its last word, which differs between data directories.
func hidden(cmd *redis.StatusCmd) redis.Cmder {
	args := cmd.Args()
	args[len(args)-1] = "..."
	return cmd
}

func countMinCalls(ctx context.Context, c *redis.Client) []goRedisCall {
	return []goRedisCall{
		func() redis.Cmder { return c.CMSInitByDim(ctx, "m1", 2000, 5) },
		func() redis.Cmder { return c.CMSInitByDim(ctx, "m1", 2000, 5) },
		func() redis.Cmder { return c.CMSInitByDim(ctx, "m2", 2000, 5) },
		func() redis.Cmder { return c.CMSInitByDim(ctx, "m3", 2000, 5) },
		func() redis.Cmder { return c.CMSInitByDim(ctx, "bad", 0, 5) },
		func() redis.Cmder { return c.CMSInitByProb(ctx, "p", 0.001, 0.01) },
		func() redis.Cmder { return c.CMSInitByProb(ctx, "bad", 0, 0.01) },
		func() redis.Cmder { return c.CMSIncrBy(ctx, "m1", "one", 5, "two", 7) },
		func() redis.Cmder { return c.CMSIncrBy(ctx, "m1", "one", 1) },
		func() redis.Cmder { return c.CMSIncrBy(ctx, "m1", "one", -1) },
		func() redis.Cmder { return c.CMSIncrBy(ctx, "absent", "one", 1) },
		func() redis.Cmder { return c.CMSQuery(ctx, "m1", "one", "two", "three") },
		func() redis.Cmder { return c.CMSIncrBy(ctx, "m2", "one", 100) },
		func() redis.Cmder { return c.CMSMerge(ctx, "m3", "m1", "m2") },
		func() redis.Cmder { return c.CMSQuery(ctx, "m3", "one", "two", "three") },
		func() redis.Cmder { return c.CMSMergeWithWeight(ctx, "m3", map[string]int64{"m1": 3}) },
		func() redis.Cmder { return c.CMSQuery(ctx, "m3", "one", "two", "three") },
		func() redis.Cmder { return c.CMSMerge(ctx, "m3", "p") },
		func() redis.Cmder { return c.CMSInfo(ctx, "m1") },
		func() redis.Cmder { return c.CMSInfo(ctx, "p") },
		func() redis.Cmder { return c.CMSInfo(ctx, "absent") },
		func() redis.Cmder { return c.Type(ctx, "m1") },
	}
}

func topKCalls(ctx context.Context, c *redis.Client) []goRedisCall {
	return []goRedisCall{
		func() redis.Cmder { return c.TopKReserve(ctx, "t1", 3) },
		func() redis.Cmder { return c.TopKReserve(ctx, "t1", 3) },
		func() redis.Cmder { return c.TopKReserveWithOptions(ctx, "t2", 2, 2000, 7, 0.925) },
		func() redis.Cmder { return c.TopKReserveWithOptions(ctx, "bad", 2, 2000, 7, 2) },
		func() redis.Cmder { return c.TopKAdd(ctx, "t1", "one", "two", "one") },
		func() redis.Cmder { return c.TopKIncrBy(ctx, "t1", "one", 10, "two", 20, "three", 5) },
		func() redis.Cmder { return c.TopKIncrBy(ctx, "t1", "four", 1000) },
		func() redis.Cmder { return c.TopKIncrBy(ctx, "t1", "four", -5, "one", 1) },
		func() redis.Cmder { return c.TopKAdd(ctx, "absent", "one") },
		func() redis.Cmder { return c.TopKQuery(ctx, "t1", "one", "two", "five") },
		func() redis.Cmder { return c.TopKCount(ctx, "t1", "one", "two", "five") },
		func() redis.Cmder { return c.TopKList(ctx, "t1") },
		func() redis.Cmder { return c.TopKListWithCount(ctx, "t1") },
		func() redis.Cmder { return c.TopKInfo(ctx, "t1") },
		func() redis.Cmder { return c.TopKInfo(ctx, "t2") },
		func() redis.Cmder { return c.TopKInfo(ctx, "absent") },
		func() redis.Cmder { return c.Type(ctx, "t1") },
	}
}
