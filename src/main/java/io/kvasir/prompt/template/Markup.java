package io.kvasir.prompt.template;

/** Text marked as safe HTML by {@code safe} or {@code escape}: what is added to it gets escaped. */
record Markup(String text) {
  static String escape(RenderBudget budget, String raw) {
    budget.read(raw.length());
    int escapes = 0;
    for (int i = 0; i < raw.length(); i++) {
      escapes += "&<>'\"".indexOf(raw.charAt(i)) < 0 ? 0 : 1;
    }
    // The longest escape has five characters.
    budget.reserve(raw.length() + 4L * escapes);
    if (escapes == 0) {
      return raw;
    }
    StringBuilder out = new StringBuilder(raw.length() + 4 * escapes);
    for (int i = 0; i < raw.length(); i++) {
      char c = raw.charAt(i);
      switch (c) {
        case '&' -> out.append("&amp;");
        case '<' -> out.append("&lt;");
        case '>' -> out.append("&gt;");
        case '\'' -> out.append("&#39;");
        case '"' -> out.append("&#34;");
        default -> out.append(c);
      }
    }
    return out.toString();
  }

  @Override
  public String toString() {
    return text;
  }
}
