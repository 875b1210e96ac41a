package io.kvasir.prompt.template;

/** Text marked as safe HTML by {@code safe} or {@code escape}: what is added to it gets escaped. */
record Markup(String text) {
  static String escape(String raw) {
    int i = 0;
    while (i < raw.length() && "&<>'\"".indexOf(raw.charAt(i)) < 0) {
      i++;
    }
    if (i == raw.length()) {
      return raw;
    }
    StringBuilder out = new StringBuilder(raw.length() + 16).append(raw, 0, i);
    for (; i < raw.length(); i++) {
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
