package io.kvasir.prompt.template;

import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.TextStyle;
import java.time.temporal.IsoFields;
import java.util.Locale;

/** Python's {@code datetime.strftime} of a time without zone, in the C locale, with glibc's {@code -} flag. */
final class Strftime {
  private Strftime() {}

  static String format(LocalDateTime time, String format) {
    StringBuilder out = new StringBuilder();
    for (int i = 0; i < format.length(); i++) {
      char c = format.charAt(i);
      if (c != '%' || i + 1 == format.length()) {
        out.append(c);
        continue;
      }
      char directive = format.charAt(++i);
      char flag = 0;
      if ("-_0^#".indexOf(directive) >= 0 && i + 1 < format.length()) {
        flag = directive;
        directive = format.charAt(++i);
      }
      directive(out, time, directive, flag);
    }
    return out.toString();
  }

  private static void directive(StringBuilder out, LocalDateTime t, char directive, char flag) {
    int weekday = t.getDayOfWeek().getValue();
    int hour12 = (t.getHour() + 11) % 12 + 1;
    switch (directive) {
      case 'Y' -> out.append(t.getYear());
      case 'C' -> number(out, t.getYear() / 100, 2, '0', flag);
      case 'y' -> number(out, t.getYear() % 100, 2, '0', flag);
      case 'm' -> number(out, t.getMonthValue(), 2, '0', flag);
      case 'd' -> number(out, t.getDayOfMonth(), 2, '0', flag);
      case 'e' -> number(out, t.getDayOfMonth(), 2, ' ', flag);
      case 'H' -> number(out, t.getHour(), 2, '0', flag);
      case 'k' -> number(out, t.getHour(), 2, ' ', flag);
      case 'I' -> number(out, hour12, 2, '0', flag);
      case 'l' -> number(out, hour12, 2, ' ', flag);
      case 'M' -> number(out, t.getMinute(), 2, '0', flag);
      case 'S' -> number(out, t.getSecond(), 2, '0', flag);
      case 'f' -> number(out, t.getNano() / 1000, 6, '0', (char) 0);
      case 'j' -> number(out, t.getDayOfYear(), 3, '0', flag);
      case 'p' -> out.append(t.getHour() < 12 ? flag == '#' ? "am" : "AM" : flag == '#' ? "pm" : "PM");
      case 'P' -> out.append(t.getHour() < 12 ? "am" : "pm");
      case 'B' -> name(out, t.getMonth().getDisplayName(TextStyle.FULL, Locale.ENGLISH), flag);
      case 'b', 'h' -> name(out, t.getMonth().getDisplayName(TextStyle.FULL, Locale.ENGLISH).substring(0, 3), flag);
      case 'A' -> name(out, t.getDayOfWeek().getDisplayName(TextStyle.FULL, Locale.ENGLISH), flag);
      case 'a' -> name(out, t.getDayOfWeek().getDisplayName(TextStyle.FULL, Locale.ENGLISH).substring(0, 3), flag);
      case 'u' -> out.append(weekday);
      case 'w' -> out.append(weekday % 7);
      case 'U' -> number(out, (t.getDayOfYear() + 6 - weekday % 7) / 7, 2, '0', flag);
      case 'W' -> number(out, (t.getDayOfYear() + 6 - (weekday + 6) % 7) / 7, 2, '0', flag);
      case 'V' -> number(out, t.get(IsoFields.WEEK_OF_WEEK_BASED_YEAR), 2, '0', flag);
      case 'G' -> out.append(t.get(IsoFields.WEEK_BASED_YEAR));
      case 's' -> out.append(t.toEpochSecond(ZoneOffset.UTC));
      case 'D', 'x' -> out.append(format(t, "%m/%d/%y"));
      case 'F' -> out.append(format(t, "%Y-%m-%d"));
      case 'T', 'X' -> out.append(format(t, "%H:%M:%S"));
      case 'R' -> out.append(format(t, "%H:%M"));
      case 'r' -> out.append(format(t, "%I:%M:%S %p"));
      case 'c' -> out.append(format(t, "%a %b %e %H:%M:%S %Y"));
      case 'n' -> out.append('\n');
      case 't' -> out.append('\t');
      case 'z', 'Z' -> {
        // A time without zone has neither.
      }
      case '%' -> out.append('%');
      default -> {
        out.append('%');
        if (flag != 0) {
          out.append(flag);
        }
        out.append(directive);
      }
    }
  }

  private static void name(StringBuilder out, String name, char flag) {
    out.append(flag == '^' || flag == '#' ? Text.upper(name) : name);
  }

  private static void number(StringBuilder out, int value, int width, char fill, char flag) {
    char with = flag == '_' ? ' ' : flag == '0' ? '0' : fill;
    String digits = Integer.toString(value);
    if (flag != '-') {
      out.repeat(with, Math.max(0, width - digits.length()));
    }
    out.append(digits);
  }
}
