package remote

import (
	"bytes"
	"context"
	"fmt"

	"seen/cluster"
	"seen/internal/recipe"
)

// stringPiece is how much of a string is read at once.
const stringPiece = 4 << 20

// AppendString appends the string at key to b. It is for filters of other systems in
// strings, which package interop reads. A string may have half a gigabyte, so it is read in
// pieces that do not keep the engine busy for long. If it is missing or empty, the error
// is [cluster.ErrNotFound]. If it becomes shorter meanwhile, that is an error; other
// changes are not noticed.
func AppendString(ctx context.Context, client Client, b []byte, key string) ([]byte, error) {
	size, err := client.Do(ctx, client.B().Strlen().Key(key).Build()).AsInt64()
	if err != nil {
		return b, fmt.Errorf("string %q: %w", key, err)
	}
	if size == 0 {
		return b, fmt.Errorf("string %q: %w", key, cluster.ErrNotFound)
	}
	to := bytes.NewBuffer(b)
	to.Grow(int(size))
	for at := int64(0); at < size; at += stringPiece {
		piece, err := client.Do(ctx, client.B().Getrange().Key(key).Start(at).End(min(at+stringPiece, size)-1).Build()).ToString()
		if err != nil {
			return b, fmt.Errorf("string %q: %w", key, err)
		}
		if int64(len(piece)) != min(stringPiece, size-at) {
			return b, fmt.Errorf("string %q has become shorter while it was read; read it again", key)
		}
		to.WriteString(piece)
	}
	return to.Bytes(), nil
}

// RedissonSize returns the number of bits and of probes of Redisson's filter of the given
// name. Redisson keeps them in a hash beside the string, in the fields size and
// hashIterations. If they are missing the error is [cluster.ErrNotFound].
func RedissonSize(ctx context.Context, client Client, name string) (m, k uint64, err error) {
	key := recipe.RedissonConfigKey(name)
	values, err := client.Do(ctx, client.B().Hmget().Key(key).Field("size", "hashIterations").Build()).ToArray()
	if err != nil {
		return 0, 0, fmt.Errorf("hash %q: %w", key, err)
	}
	for i, to := range []*uint64{&m, &k} {
		if values[i].IsNil() {
			return 0, 0, fmt.Errorf("hash %q with the fields size and hashIterations, as Redisson has it: %w", key, cluster.ErrNotFound)
		}
		if *to, err = values[i].AsUint64(); err != nil {
			return 0, 0, fmt.Errorf("hash %q: size and hashIterations are not numbers: %w", key, err)
		}
	}
	return m, k, nil
}
