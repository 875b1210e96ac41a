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

  /** Any code point but a surrogate, the lower ones more often. */
  private int codePoint() {
    int bits = 7 + random.nextInt(14);
    int codePoint = random.nextInt(Math.min(1 << bits, Character.MAX_CODE_POINT + 1));
    return codePoint >= 0xd800 && codePoint < 0xe000 ? codePoint - 0x800 : codePoint;
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
