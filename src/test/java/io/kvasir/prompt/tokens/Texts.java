package io.kvasir.prompt.tokens;

import java.util.Random;

/** Texts that find out tokenizers, the same ones for the same seed. */
public final class Texts {
  private static final String[] WORDS = {
    "the", "router", "Remembers", "WORKERS", "isn't", "we'LL", "they're", "I'D", "it's'", "'t", "'S", "''re",
    "getElementById", "snake_case_name", "HTTPServer", "x", "Grüße", "naïve", "ſ'ſ", "'ſ", "Привет", "мир", "ǅ",
    "ʰello",
    "你好世界", "今天天气很好", "こんにちは", "カタカナー", "漢字かな交じり", "안녕하세요", "नमस्ते", "हिन्दी", "مرحبا", "שָׁלוֹם", "ไทย",
    "e\u0301", "Å", "A\u030a", "\u212b", "ﬁn", "½", "²", "①", "٣٤٥", "१२३", "Ⅷ", "🙂", "👩‍💻", "🚀🚀", "🇩🇪", "\uFEFF",
    "\u200b",
    "...", "!!", "?!", "(", ")", "{}", "[];", "->", "//", "/*", "*/", "#!/", "&&", "\"", "“quoted”", "—", "…",
    "$5", "€", "<", ">",
    "<|", "|>", "<|im", "</s", "[INST", "foo/bar", "a/b\n/c", "=\n/", "-\r\n", "0", "7", "42", "123", "1234",
    "12345678", "3.14",
    "Kvasir", "Kvasirs", "Ångström", "A\u030angstro\u0308m", "«é»", "«e\u0301»", "\u0000", "\u0007", "\u001c",
    "\u0085", "\u00ad",
    "aaaaaaaaaaaaaaaaaaaa", "ababababababababababababababababababababababababababababababababababababab"
  };
  private static final String[] SPACES = {
    " ", " ", " ", " ", "  ", "   ", "        ", "\n", "\n\n", "\r\n", "\t", "\n\t\t", " \n", "\n ", "  \n  ",
    "\r", "\u00a0", "\u2003",
    "\u3000", "\u000b\f", "\u2028", "\n\n\n   \n", ""
  };

  /** From, to: what Unicode 15 and 16 assigned, which the library of the tests does not know and engines do. */
  private static final int[] RECENT = {
    0x897, 0x897, 0xcf3, 0xcf3, 0xece, 0xece, 0x1b4e, 0x1b4f, 0x1b7f, 0x1b7f, 0x1c89, 0x1c8a, 0x2427, 0x2429,
    0x2ffc, 0x2fff, 0x31e4, 0x31e5, 0x31ef, 0x31ef, 0xa7cb, 0xa7cd, 0xa7da, 0xa7dc, 0x105c0, 0x105f3,
    0x10d40, 0x10d65, 0x10d69, 0x10d85, 0x10d8e, 0x10d8f, 0x10ec2, 0x10ec4, 0x10efc, 0x10eff, 0x1123f, 0x11241,
    0x11380, 0x11389, 0x1138b, 0x1138b, 0x1138e, 0x1138e, 0x11390, 0x113b5, 0x113b7, 0x113c0, 0x113c2, 0x113c2,
    0x113c5, 0x113c5, 0x113c7, 0x113ca, 0x113cc, 0x113d5, 0x113d7, 0x113d8, 0x113e1, 0x113e2, 0x116d0, 0x116e3,
    0x11b00, 0x11b09, 0x11bc0, 0x11be1, 0x11bf0, 0x11bf9, 0x11f00, 0x11f10, 0x11f12, 0x11f3a, 0x11f3e, 0x11f5a,
    0x1342f, 0x1342f, 0x13440, 0x13455, 0x13460, 0x143fa, 0x16100, 0x16139, 0x16d40, 0x16d79, 0x18cff, 0x18cff,
    0x1b132, 0x1b132, 0x1b155, 0x1b155, 0x1cc00, 0x1ccf9, 0x1cd00, 0x1ceb3, 0x1d2c0, 0x1d2d3, 0x1df25, 0x1df2a,
    0x1e030, 0x1e06d, 0x1e08f, 0x1e08f, 0x1e4d0, 0x1e4f9, 0x1e5d0, 0x1e5fa, 0x1e5ff, 0x1e5ff, 0x1f6dc, 0x1f6dc,
    0x1f774, 0x1f776, 0x1f77b, 0x1f77f, 0x1f7d9, 0x1f7d9, 0x1f8b2, 0x1f8bb, 0x1f8c0, 0x1f8c1, 0x1fa75, 0x1fa77,
    0x1fa87, 0x1fa89, 0x1fa8f, 0x1fa8f, 0x1faad, 0x1faaf, 0x1fabb, 0x1fabf, 0x1fac6, 0x1fac6, 0x1face, 0x1facf,
    0x1fada, 0x1fadc, 0x1fadf, 0x1fadf, 0x1fae8, 0x1fae9, 0x1faf7, 0x1faf8, 0x1fbcb, 0x1fbef, 0x2b739, 0x2b739,
    0x2ebf0, 0x2ee5d, 0x31350, 0x323af
  };

  private final Random random;

  public Texts(long seed) {
    random = new Random(seed);
  }

  /** Some {@code pieces} words, spaces, odd code points and, now and then, one of {@code special}. */
  public String text(int pieces, String... special) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < pieces; i++) {
      switch (random.nextInt(12)) {
        case 0 -> text.append(special.length == 0 ? "" : special[random.nextInt(special.length)]);
        case 1 -> text.appendCodePoint(codePoint());
        case 2 -> text.append(Integer.toString(random.nextInt(), 36));
        case 3, 4, 5, 6 -> text.append(SPACES[random.nextInt(SPACES.length)]);
        default -> text.append(WORDS[random.nextInt(WORDS.length)]);
      }
    }
    return text.toString();
  }

  /** Whether all Unicode versions that matter agree on what it is. */
  public static boolean isSettled(int codePoint) {
    for (int i = 0; i < RECENT.length; i += 2) {
      if (codePoint >= RECENT[i] && codePoint <= RECENT[i + 1]) {
        return false;
      }
    }
    return codePoint < Character.MIN_SURROGATE || codePoint > Character.MAX_SURROGATE;
  }

  /** Any code point, the lower ones more often. */
  private int codePoint() {
    int bits = 7 + random.nextInt(14);
    int codePoint = random.nextInt(Math.min(1 << bits, Character.MAX_CODE_POINT + 1));
    return isSettled(codePoint) ? codePoint : 'x';
  }

  /** Ordinary lines of words, as long as {@code chars}. */
  public String prose(int chars) {
    StringBuilder text = new StringBuilder();
    while (text.length() < chars) {
      for (int words = 4 + random.nextInt(12); words > 0; words--) {
        int letters = 1 + random.nextInt(9);
        for (int i = 0; i < letters; i++) {
          text.append("etaoinshrdlucmfwyp".charAt((int) (18 * random.nextDouble() * random.nextDouble())));
        }
        text.append(words == 1 ? ".\n" : " ");
      }
    }
    return text.toString();
  }

  public int below(int bound) {
    return random.nextInt(bound);
  }
}
