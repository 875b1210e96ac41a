package io.kvasir.prompt.template;

/**
 * How one value is laid out. A character that the format leaves out is 0, a number -1.
 *
 * @param fill what pads a value that is shorter than the width
 * @param align {@code <}, {@code >}, {@code ^}, or {@code =}: padding between the sign and the digits
 * @param sign what stands before a number that is not negative
 * @param group what separates thousands
 * @param zeros whether the alignment is that of a 0 before the width
 * @param width the fewest characters
 * @param precision a float's digits, or the most characters of a text
 * @param type the conversion
 */
record FormatSpec(char fill, char align, char sign, char group, boolean zeros, int width, int precision, char type) {
  private static final String ALIGNMENTS = "<>^=";

  /** {@code [flags][width][.precision]type}, which follows a % and the key after it. */
  static FormatSpec afterPercent(FormatScanner in) {
    char fill = ' ';
    char align = '>';
    char sign = 0;
    while (in.peekIn("-+ #0")) {
      switch (in.next()) {
        case '-' -> {
          align = '<';
          fill = ' ';
        }
        case '0' -> {
          if (align != '<') {
            align = '=';
            fill = '0';
          }
        }
        case '+' -> sign = '+';
        case ' ' -> sign = sign == '+' ? '+' : ' ';
        default -> {
          // The alternate form is not supported.
        }
      }
    }
    return new FormatSpec(fill, align, sign, (char) 0, false, in.number(), precision(in), in.next());
  }

  /** {@code [[fill]align][sign][#][0][width][,][.precision][type]}, which follows the colon of a field in braces. */
  static FormatSpec afterColon(String text) {
    FormatScanner in = new FormatScanner(text);
    char fill = ' ';
    char align = 0;
    char sign = 0;
    boolean zeros = false;
    if (in.peekSecondIn(ALIGNMENTS)) {
      fill = in.next();
      align = in.next();
    } else if (in.peekIn(ALIGNMENTS)) {
      align = in.next();
    }
    while (in.peekIn("+- #0")) {
      char flag = in.next();
      if (flag == '0' && align == 0) {
        fill = '0';
        align = '=';
        zeros = true;
      } else if (flag == '+' || flag == ' ') {
        sign = flag;
      }
    }
    int width = in.number();
    char group = in.peekIn(",_") ? in.next() : 0;
    int precision = precision(in);
    char type = in.peek() == '}' || in.peek() == 0 ? 0 : in.next();
    if (!in.atEnd()) {
      throw new TemplateException.Evaluation("invalid format specifier");
    }
    return new FormatSpec(fill, align, sign, group, zeros, width, precision, type);
  }

  private static int precision(FormatScanner in) {
    return in.skip('.') ? Math.max(0, in.number()) : -1;
  }

  /** As it applies to a text, which has no sign for zeros to follow. */
  FormatSpec ofText() {
    if (align != '=') {
      return this;
    }
    if (!zeros) {
      throw new TemplateException.Evaluation("'=' alignment not allowed in string format specifier");
    }
    return new FormatSpec(fill, '<', sign, group, true, width, precision, type);
  }

  String signed(String digits) {
    return sign == 0 || digits.startsWith("-") ? digits : sign + digits;
  }

  String grouped(String digits) {
    if (group == 0) {
      return digits;
    }
    int start = digits.startsWith("-") ? 1 : 0;
    int end = start;
    while (end < digits.length() && Character.isDigit(digits.charAt(end))) {
      end++;
    }
    StringBuilder out = new StringBuilder(digits);
    for (int i = end - 3; i > start; i -= 3) {
      out.insert(i, group);
    }
    return out.toString();
  }

  /** The text's first characters, as many as the precision says. */
  String cut(RenderContext render, String text) {
    if (precision < 0) {
      return text;
    }
    int end = Text.index(render, text, precision);
    render.reserve(end);
    return text.substring(0, end);
  }

  String padText(RenderContext render, String text) {
    if (width < 0) {
      return text;
    }
    return align == '=' ? Text.pad(render, text, width, " ", '>')
        : Text.pad(render, text, width, String.valueOf(fill), align == 0 ? '<' : align);
  }

  String padNumber(RenderContext render, String text) {
    if (width < 0) {
      return text;
    }
    String filler = String.valueOf(fill);
    if (align != '=') {
      return Text.pad(render, text, width, filler, align == 0 ? '>' : align);
    }
    int prefix = text.startsWith("-") || text.startsWith("+") || text.startsWith(" ") ? 1 : 0;
    return text.substring(0, prefix) + Text.pad(render, text.substring(prefix), width - prefix, filler, '>');
  }
}
