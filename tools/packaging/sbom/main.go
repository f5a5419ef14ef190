// Command sbom prints a software bill of materials, in the JSON of CycloneDX 1.6, of a
// program that Go has built: the modules that are compiled into it, with their versions
// and checksums, as the program itself tells them.
//
//	sbom NAME VERSION PROGRAM > sbom.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom NAME VERSION PROGRAM")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(to io.Writer, name, version, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	standard := component("std", info.GoVersion)
	standard.BOMRef, standard.PackageURL = "std", "pkg:golang/std@"+strings.TrimPrefix(info.GoVersion, "go")
	components := []cyclonedx.Component{standard}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		one := component(module.Path, module.Version)
		if hash, err := moduleHash(module.Sum); err != nil {
			return fmt.Errorf("%s: %w", module.Path, err)
		} else if hash != "" {
			one.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hash}}
		}
		components = append(components, one)
	}
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.SerialNumber = "" // the same program has the same text
	bom.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		BOMRef: name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: version,
		Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}},
		Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	}}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: name, Dependencies: &refs}}
	return cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cyclonedx.SpecVersion1_6)
}

func component(path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
}

// moduleHash returns the checksum of go.sum ("h1:" and a SHA-256 in base64) in the
// hexadecimal digits of CycloneDX, "" if there is none.
func moduleHash(sum string) (string, error) {
	text, ok := strings.CutPrefix(sum, "h1:")
	if !ok {
		return "", nil
	}
	hash, err := base64.StdEncoding.DecodeString(text)
	return hex.EncodeToString(hash), err
}
