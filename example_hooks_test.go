package convmem_test

import (
	"context"
	"fmt"
	"math"
	"strings"

	"example.com/convmem"
	"example.com/convmem/store/vfs"
)

// embed stands for a model that turns a text into a vector. This one knows two
// ideas: animals and vehicles.
func embed(text string) []float64 {
	v := make([]float64, 2)
	for i, words := range [][]string{{"dog", "cat", "puppy", "leash"}, {"car", "van", "wheel", "brake"}} {
		for _, word := range words {
			v[i] += float64(strings.Count(text, word))
		}
	}
	return v
}

func cosine(a, b []float64) float64 {
	var dot, x, y float64
	for i := range a {
		dot += a[i] * b[i]
		x += a[i] * a[i]
		y += b[i] * b[i]
	}
	if dot == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}

// meaning is a Reranker that adds what the words say to what they mean.
type meaning struct{}

func (meaning) Rerank(_ context.Context, query string, candidates []convmem.Candidate) ([]float64, error) {
	wanted := embed(query)
	scores := make([]float64, len(candidates))
	for i, c := range candidates {
		scores[i] = c.Score + cosine(wanted, embed(c.Message.Content))
	}
	return scores, nil
}

// A Reranker lets a host bring its own embeddings.
func ExampleReranker() {
	ctx := context.Background()
	db, err := convmem.Open(ctx, "", &convmem.Options{FS: vfs.NewMem(0), Reranker: meaning{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	for _, content := range []string{
		"Bring the new leash for the puppy.",
		"The new brake pads for the van are here, and so is the new wheel.",
	} {
		_, err := db.Write(ctx, convmem.WriteRequest{SessionID: "errands", Role: convmem.RoleUser, Content: content})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	found, err := db.Search(ctx, convmem.SearchRequest{Query: "something new for the dog"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Content)
	}
	// Output:
	// Bring the new leash for the puppy.
	// The new brake pads for the van are here, and so is the new wheel.
}
