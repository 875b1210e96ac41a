package io.kvasir.prompt.harmony;

import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.tokens.Tokenizer;

/**
 * The text of a conversation for a tokenizer that knows {@link Tokenizer#BREAK breaks}. The reference library encodes
 * every text by itself, and never reads a special token in it: so a break is where two texts meet, and within what
 * would be a special token. There it changes nothing: before a letter {@code <|} is the end of a word.
 */
final class HarmonyText {
  private static final String OPENING = "<|";

  private final RenderedText rendered = new RenderedText();
  private boolean afterText;

  void special(String token) {
    rendered.append(token);
    afterText = false;
  }

  void text(String text) {
    if (text.isEmpty()) {
      return;
    }
    if (afterText) {
      rendered.append(Tokenizer.BREAK);
    }
    afterText = true;
    int from = 0;
    for (int at = text.indexOf(OPENING); at >= 0; at = text.indexOf(OPENING, at + OPENING.length())) {
      int after = at + OPENING.length();
      if (after < text.length() && isAsciiLetter(text.charAt(after))) {
        rendered.append(text.substring(from, after));
        rendered.append(Tokenizer.BREAK);
        from = after;
      }
    }
    rendered.append(from == 0 ? text : text.substring(from));
  }

  RenderedText rendered() {
    return rendered;
  }

  private static boolean isAsciiLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
}
