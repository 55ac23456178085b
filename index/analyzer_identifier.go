package index

import "strings"

// isIdentifier says whether s is a number made by a machine, of which no part
// means anything: a ULID, a UUID, a long or marked hexadecimal number.
func isIdentifier(s string) bool {
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		return isHexadecimal(s[2:])
	case len(s) == 26 && isULID(s), len(s) == 36 && isUUID(s):
		return true
	}
	return len(s) >= 12 && strings.ContainsAny(s, "0123456789") && isHexadecimal(s)
}

func isHexadecimal(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

func isULID(s string) bool {
	return s[0] >= '0' && s[0] <= '7' &&
		strings.Trim(strings.ToUpper(s), "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}

func isUUID(s string) bool {
	for i := range len(s) {
		if hyphen := i == 8 || i == 13 || i == 18 || i == 23; hyphen != (s[i] == '-') {
			return false
		}
	}
	return isHexadecimal(strings.ReplaceAll(s, "-", ""))
}
