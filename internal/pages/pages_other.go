//go:build !unix

package pages

import "errors"

const canMap = false

func mapWords(int) ([]uint64, []byte, error) { return nil, nil, errors.ErrUnsupported }

func unmap([]byte) {}
