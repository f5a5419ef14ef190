package interop

import "fmt"

// What the registry opens and builds of the formats that are a header and an array.
func init() {
	add := func(dir, spec, build string, capacity uint64, errorRate float64) {
		goldenCases = append(goldenCases, goldenCase{dir: dir, spec: spec, build: build, capacity: capacity, errorRate: errorRate})
	}
	add("bnb-v2-binary", "", "bits-and-blooms", 300, 0.03)
	add("bnb-v3-binary", "", "bits-and-blooms:form=binary,order=big", 300, 0.03)
	add("bnb-v3-binary-bytes", "bits-and-blooms", "bits-and-blooms:m=1777,k=4", 1, 0.5)
	add("bnb-v3-bitset-le", "", "bits-and-blooms:order=little", 300, 0.03)
	add("bnb-v3-fromwithm", "", "bits-and-blooms:m=2001,k=5,length=2048", 1, 0.5)
	add("bnb-v3-json", "", "bits-and-blooms:form=json", 300, 0.03)
	add("bnb-v3-json-std64", "", "bits-and-blooms:form=json-std", 300, 0.03)
	add("bnb-v3-m1k1", "", "bits-and-blooms:m=1,k=1", 1, 0.5)

	add("dcso-bytes", "", "dcso", 214, 0.05)
	data := Spec{Name: "dcso"}.with("data", `{"source":"vector","note":"dätä"}`+"\n")
	add("dcso-data", "dcso", data.String(), 310, 0.01)
	add("dcso-gzip", "", "", 0, 0)
	add("dcso-plain", "", "dcso:form=plain", 300, 0.03)

	for dir, funnel := range guavaVectors {
		spec := "guava:funnel=" + string(funnel)
		build := spec
		if dir[:len("guava-mitz32")] == "guava-mitz32" {
			build += ",strategy=mitz32"
		}
		if funnel == guavaBytes {
			add(dir, spec, build, 214, 0.05)
		} else {
			add(dir, spec, build+",probes=rate", 300, 0.03)
		}
	}

	add("parquet-sbbf-duckdb-int64", "parquet:type=int64", "parquet:type=int64", 306, 0.05)
	add("parquet-sbbf-duckdb-string", "parquet:type=string", "parquet:type=string", 310, 0.05)
	add("parquet-sbbf-int64", "parquet:type=int64", "parquet:bytes=320,type=int64", 1, 0.5)
	add("parquet-sbbf-string", "parquet:type=binary", "parquet:bytes=320,type=string", 1, 0.5)
	for _, dir := range []string{"parquet-sbbf-duckdb-int64", "parquet-sbbf-duckdb-string", "parquet-sbbf-int64", "parquet-sbbf-string"} {
		goldenCases = append(goldenCases, goldenCase{dir: dir, file: "table.parquet"})
		goldenCases = append(goldenCases, goldenCase{dir: dir, file: "table.parquet", spec: "parquet:column=k,rowgroup=0"})
	}
	for group := range 3 {
		spec := fmt.Sprintf("parquet:column=k,rowgroup=%d", group)
		goldenCases = append(goldenCases, goldenCase{dir: "parquet-multi-rowgroup", spec: spec, answer: group})
	}

	add("spark-v1-bytes", "spark:type=binary", "spark:type=binary", 214, 0.05)
	add("spark-v1-long", "spark:type=long", "spark:type=long,version=1", 300, 0.03)
	add("spark-v1-string", "spark:type=string", "spark:type=string", 300, 0.03)
	add("spark-v2-long-seed", "spark:type=long", "spark:seed=1234567,type=long,version=2", 300, 0.03)
	add("spark-v2-string", "spark:type=string", "spark:type=string,version=2", 300, 0.03)
}
