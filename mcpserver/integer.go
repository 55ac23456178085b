package mcpserver

import (
	"strconv"
	"strings"
)

// wholeNumber returns the exact value of a JSON number such as 10, 10.0 or 1e1,
// or what is wrong with it. It never goes through floating point, which would
// round large integers to their neighbours.
func wholeNumber(literal string) (int64, string) {
	unsigned, negative := strings.CutPrefix(literal, "-")
	mantissa, exponent, _ := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return 0, ""
	}
	zeros := shift(exponent) - len(fraction) + len(digits) - len(significant)
	switch {
	case zeros < 0:
		return 0, "not a whole number"
	case len(significant)+zeros > len("9223372036854775808"):
		return 0, "beyond 64 bits"
	}
	sign := ""
	if negative {
		sign = "-"
	}
	return plainInteger(sign + significant + strings.Repeat("0", zeros))
}

// shift is the value of an exponent. One that is out of all proportion to the
// length of any text is cut to one that is still out of it.
func shift(exponent string) int {
	const most = 1 << 30
	if exponent == "" {
		return 0
	}
	n, err := strconv.Atoi(exponent)
	if err != nil {
		n = most
		if exponent[0] == '-' {
			n = -most
		}
	}
	return min(max(n, -most), most)
}

// plainInteger reads digits with an optional minus and nothing else.
func plainInteger(text string) (int64, string) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, "a string that is no integer"
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, "beyond 64 bits"
	}
	return n, ""
}
