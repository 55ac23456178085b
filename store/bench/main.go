// Command bench compares the storage engine of convmem with others that a Go
// program would embed. See README.md for what is compared and what is unfair.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "", "make the stores below this directory, on the disk that is meant (default TMPDIR)")
	p := plan{loneWrites: 100, writers: 64, writesEach: 8}
	flag.IntVar(&p.records, "records", 100_000, "records of the stores that are opened")
	flag.IntVar(&p.flips, "flips", 100, "bits to flip in each damaged store, one at a time")
	checked := flag.String("check", "", "look at a damaged store of this engine and print a verdict; for the command's own use")
	flag.Parse()
	if *checked != "" {
		fmt.Println(check(productNamed(*checked), flag.Arg(0)))
		return
	}
	home, err := os.MkdirTemp(*dir, "bench")
	if err != nil {
		log.Fatal(err)
	}
	err = compare(os.Stdout, home, p)
	if removeErr := os.RemoveAll(home); err == nil {
		err = removeErr
	}
	if err != nil {
		log.Fatal(err)
	}
}

func productNamed(name string) product {
	for _, p := range products() {
		if p.name == name {
			return p
		}
	}
	log.Fatalf("no engine is called %q", name)
	return product{}
}

// plan says how much is measured.
type plan struct {
	loneWrites int // in a block
	writers    int // that write at once
	writesEach int // of theirs in a block
	records    int // of the stores that are opened
	flips      int // of bits in a damaged store
}

// compare measures all and prints two tables.
func compare(w io.Writer, home string, p plan) error {
	if err := comparePerformance(w, home, p); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return compareDamage(w, home, p.flips)
}

func comparePerformance(w io.Writer, home string, p plan) error {
	all := append([]product{{"bare file", openBare}}, products()...)
	alone, err := measureWrites(home, all, 1, p.loneWrites)
	if err != nil {
		return err
	}
	together, err := measureWrites(home, all, p.writers, p.writesEach)
	if err != nil {
		return err
	}
	row(w, "engine", "lone write p50", "x bare", "bytes/byte",
		fmt.Sprintf("%d writers, writes/s", p.writers), "x bare", "bytes/byte",
		fmt.Sprintf("open %d + 1 read", p.records), "read all", "disk bytes/byte")
	row(w, "---", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:", "--:")
	records := newRecords(p.records, recordSize)
	for i, product := range all {
		cells := append([]string{product.name}, writeCells(alone[i], together[i])...)
		if i == 0 {
			row(w, append(cells, "", "", "")...)
			continue
		}
		o, err := measureOpen(home, product, records)
		if err != nil {
			return err
		}
		row(w, append(cells, milliseconds(o.first), milliseconds(o.whole), fmt.Sprintf("%.2f", o.onDisk))...)
	}
	return nil
}

func writeCells(alone, together writeFigures) []string {
	return []string{
		fmt.Sprintf("%d us", alone.median.Microseconds()), fmt.Sprintf("%.2f", alone.slower), known(alone.bytesByByte),
		fmt.Sprintf("%.0f", together.perSecond), fmt.Sprintf("%.2f", together.faster), known(together.bytesByByte),
	}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3) }

func known(ratio float64) string {
	if ratio < 0 {
		return "?"
	}
	return fmt.Sprintf("%.2f", ratio)
}

func compareDamage(w io.Writer, home string, flips int) error {
	header := []string{"engine", "left", "bit in the middle record"}
	for _, v := range verdicts {
		header = append(header, fmt.Sprintf("%s of %d", v, flips))
	}
	row(w, header...)
	row(w, "---", "---", "---", "--:", "--:", "--:", "--:", "--:")
	for _, p := range products() {
		for _, how := range []ending{killed, closed, settled} {
			d, err := measureDamage(home, p, how, flips)
			if err != nil {
				return err
			}
			cells := []string{p.name, string(how), string(d.middle)}
			for _, v := range verdicts {
				cells = append(cells, fmt.Sprint(d.spread[v]))
			}
			row(w, cells...)
		}
	}
	return nil
}

// row prints one line of a Markdown table.
func row(w io.Writer, cells ...string) {
	fmt.Fprint(w, "|")
	for _, cell := range cells {
		fmt.Fprintf(w, " %s |", cell)
	}
	fmt.Fprintln(w)
}
