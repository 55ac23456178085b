package index

// baseVerb returns the base form of an irregular verb, and any other word as it
// is. It knows inflection only, no word for another.
//
// A form that is as often another word stays as it is, or a search for that
// other word would find the wrong things: bit, bore, bound, dove, fed (it is
// short for federal), ground, lay, led (the lamp), rose, rung, shot, slew, spat,
// stuck, wound; born, which is said of a birth and not of bearing; done, whose
// base is a stop word. Of forms that are hardly ever another word in what people
// write to each other the verb wins: felt, found, left, saw, spoke, thought. So it
// does over names (Drew) and short forms (Sat), which still find themselves.
func baseVerb(word string) string {
	switch word {
	case "arose", "arisen":
		return "arise"
	case "ate", "eaten":
		return "eat"
	case "awoke", "awoken":
		return "awake"
	case "beaten":
		return "beat"
	case "became":
		return "become"
	case "began", "begun":
		return "begin"
	case "bent":
		return "bend"
	case "bitten":
		return "bite"
	case "bled":
		return "bleed"
	case "blew", "blown":
		return "blow"
	case "bred":
		return "breed"
	case "broke", "broken":
		return "break"
	case "brought":
		return "bring"
	case "built":
		return "build"
	case "rebuilt":
		return "rebuild"
	case "burnt":
		return "burn"
	case "bought":
		return "buy"
	case "came":
		return "come"
	case "overcame":
		return "overcome"
	case "caught":
		return "catch"
	case "chose", "chosen":
		return "choose"
	case "clung":
		return "cling"
	case "crept":
		return "creep"
	case "dealt":
		return "deal"
	case "drank", "drunk":
		return "drink"
	case "drawn", "drew":
		return "draw"
	case "withdrawn", "withdrew":
		return "withdraw"
	case "dreamt":
		return "dream"
	case "driven", "drove":
		return "drive"
	case "dug":
		return "dig"
	case "dwelt":
		return "dwell"
	case "fallen", "fell":
		return "fall"
	case "felt":
		return "feel"
	case "fled":
		return "flee"
	case "flew", "flown":
		return "fly"
	case "forbade", "forbidden":
		return "forbid"
	case "foresaw", "foreseen":
		return "foresee"
	case "forgave", "forgiven":
		return "forgive"
	case "forgot", "forgotten":
		return "forget"
	case "fought":
		return "fight"
	case "found":
		return "find"
	case "froze", "frozen":
		return "freeze"
	case "gave", "given":
		return "give"
	case "goes", "gone", "went":
		return "go"
	case "undergone", "underwent":
		return "undergo"
	case "got", "gotten":
		return "get"
	case "grew", "grown":
		return "grow"
	case "heard":
		return "hear"
	case "overheard":
		return "overhear"
	case "held":
		return "hold"
	case "upheld":
		return "uphold"
	case "withheld":
		return "withhold"
	case "hid", "hidden":
		return "hide"
	case "hung":
		return "hang"
	case "kept":
		return "keep"
	case "knelt":
		return "kneel"
	case "knew", "known":
		return "know"
	case "laid":
		return "lay"
	case "lain":
		return "lie"
	case "leant":
		return "lean"
	case "leapt":
		return "leap"
	case "learnt":
		return "learn"
	case "left":
		return "leave"
	case "lent":
		return "lend"
	case "lit":
		return "light"
	case "lost":
		return "lose"
	case "made":
		return "make"
	case "meant":
		return "mean"
	case "met":
		return "meet"
	case "misled":
		return "mislead"
	case "mistaken", "mistook":
		return "mistake"
	case "misunderstood":
		return "misunderstand"
	case "mown":
		return "mow"
	case "overridden", "overrode":
		return "override"
	case "overseen", "oversaw":
		return "oversee"
	case "overwritten", "overwrote":
		return "overwrite"
	case "paid":
		return "pay"
	case "repaid":
		return "repay"
	case "proven":
		return "prove"
	case "ran":
		return "run"
	case "reran":
		return "rerun"
	case "rang":
		return "ring"
	case "redid", "redone":
		return "redo"
	case "remade":
		return "remake"
	case "retold":
		return "retell"
	case "rethought":
		return "rethink"
	case "rewritten", "rewrote":
		return "rewrite"
	case "ridden", "rode":
		return "ride"
	case "risen":
		return "rise"
	case "said":
		return "say"
	case "sang", "sung":
		return "sing"
	case "sank", "sunk":
		return "sink"
	case "sat":
		return "sit"
	case "saw", "seen":
		return "see"
	case "sent":
		return "send"
	case "sewn":
		return "sew"
	case "shaken", "shook":
		return "shake"
	case "shone":
		return "shine"
	case "shown":
		return "show"
	case "shrank", "shrunk":
		return "shrink"
	case "slain":
		return "slay"
	case "slept":
		return "sleep"
	case "overslept":
		return "oversleep"
	case "slid":
		return "slide"
	case "slung":
		return "sling"
	case "sold":
		return "sell"
	case "sought":
		return "seek"
	case "sown":
		return "sow"
	case "sped":
		return "speed"
	case "spent":
		return "spend"
	case "spilt":
		return "spill"
	case "spoilt":
		return "spoil"
	case "spoke", "spoken":
		return "speak"
	case "sprang", "sprung":
		return "spring"
	case "spun":
		return "spin"
	case "stank", "stunk":
		return "stink"
	case "stole", "stolen":
		return "steal"
	case "stood":
		return "stand"
	case "understood":
		return "understand"
	case "withstood":
		return "withstand"
	case "strode":
		return "stride"
	case "strove", "striven":
		return "strive"
	case "struck":
		return "strike"
	case "strung":
		return "string"
	case "stung":
		return "sting"
	case "swam", "swum":
		return "swim"
	case "swept":
		return "sweep"
	case "swollen":
		return "swell"
	case "swore", "sworn":
		return "swear"
	case "swung":
		return "swing"
	case "taken", "took":
		return "take"
	case "undertaken", "undertook":
		return "undertake"
	case "taught":
		return "teach"
	case "thought", "thoughts":
		return "think"
	case "threw", "thrown":
		return "throw"
	case "overthrew", "overthrown":
		return "overthrow"
	case "told":
		return "tell"
	case "tore", "torn":
		return "tear"
	case "trod", "trodden":
		return "tread"
	case "undid", "undone":
		return "undo"
	case "unwound":
		return "unwind"
	case "wept":
		return "weep"
	case "woke", "woken":
		return "wake"
	case "won":
		return "win"
	case "wore", "worn":
		return "wear"
	case "wove", "woven":
		return "weave"
	case "written", "wrote":
		return "write"
	case "wrung":
		return "wring"
	}
	return word
}
