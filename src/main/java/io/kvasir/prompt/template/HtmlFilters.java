package io.kvasir.prompt.template;

import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The filters that make HTML. */
final class HtmlFilters {
  private static final Pattern SPACE = Pattern.compile("\\s+", Pattern.UNICODE_CHARACTER_CLASS);
  private static final Pattern ADDRESS = Pattern.compile(
      "((https?://|www\\.)(([\\w%-]+\\.)+)?([a-z]{2,63}|xn--[\\w%]{2,59})"
          + "|([\\w%-]{2,63}\\.)+(com|net|int|edu|gov|org|info|mil)"
          + "|https?://(\\d{1,3}(\\.\\d{1,3}){3}|\\[([\\da-f]{0,4}:){2}([\\da-f]{0,4}:?){1,6}\\]))"
          + "(?::\\d{1,5})?(?:[/?#]\\S*)?",
      Pattern.CASE_INSENSITIVE | Pattern.UNICODE_CASE | Pattern.UNICODE_CHARACTER_CLASS);
  private static final Pattern MAIL =
      Pattern.compile("\\S+@\\w[\\w.-]*\\.\\w+", Pattern.UNICODE_CHARACTER_CLASS);
  private static final Pattern SCHEME = Pattern.compile("[\\w.+-]{2,}:(/){0,2}", Pattern.UNICODE_CHARACTER_CLASS);
  private static final List<String> OPENING = List.of("(", "<", "&lt;");
  private static final List<String> CLOSING = List.of(")", ">", "&gt;");

  private HtmlFilters() {}

  /** A text with its addresses as links. */
  static Object links(RenderContext render, @Nullable Object value, Arguments a) {
    return html(render, new Links(render, a).linked(Values.safe(render, value)));
  }

  /** HTML is safe inside an autoescape block, and a plain text elsewhere. */
  private static Object html(RenderContext render, String text) {
    return render.escapes() ? new Markup(text) : text;
  }

  /** A dict as the attributes of a tag. */
  static Object attributes(RenderContext render, @Nullable Object value, Arguments a) {
    if (!(value instanceof Map<?, ?> map)) {
      throw value instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
          "'" + Values.typeName(value) + "' object has no attribute 'items'");
    }
    StringBuilder out = new StringBuilder();
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      if (entry.getValue() == null || entry.getValue() instanceof Undefined) {
        continue;
      }
      String name = Values.text(entry.getKey());
      if (name == null || name.chars().anyMatch(c -> " \t\n\r\f\u000b/>=".indexOf(c) >= 0)) {
        throw new TemplateException.Evaluation("'" + Values.str(render, entry.getKey()) + "' cannot be the name of"
            + " an attribute");
      }
      String text = Values.safe(render, entry.getValue());
      render.reserve(name.length() + text.length() + 4L);
      out.append(out.isEmpty() ? "" : " ").append(Markup.escape(render.budget(), name));
      out.append("=\"").append(text).append('"');
    }
    return html(render, out.isEmpty() || !a.flag(0, true) ? out.toString() : " " + out);
  }

  /** The links of one text. */
  private static final class Links {
    private final RenderContext render;
    private final long limit;
    private final String attributes;
    private final Collection<String> schemes = new TreeSet<>();

    Links(RenderContext render, Arguments a) {
      this.render = render;
      this.limit = a.given(0) ? a.integer(0, 0) : Long.MAX_VALUE;
      Set<String> rel = new TreeSet<>(Text.splitSpace(render, a.given(3) ? a.text(3) : "", -1));
      rel.add("noopener");
      if (a.flag(1, false)) {
        rel.add("nofollow");
      }
      String target = a.given(2) ? a.text(2) : "";
      this.attributes = " rel=\"" + Markup.escape(render.budget(), String.join(" ", rel)) + "\""
          + (target.isEmpty() ? "" : " target=\"" + Markup.escape(render.budget(), target) + "\"");
      for (Iterator<?> more = a.given(4) ? Values.iterate(a.get(4)) : List.of().iterator(); more.hasNext(); ) {
        String scheme = Values.text(more.next());
        if (scheme == null || !SCHEME.matcher(scheme).matches()) {
          throw new TemplateException.Evaluation("'" + scheme + "' is not a valid URI scheme prefix");
        }
        schemes.add(scheme);
      }
    }

    String linked(String escaped) {
      render.reserve(escaped.length());
      StringBuilder out = new StringBuilder();
      Matcher gap = SPACE.matcher(escaped);
      int from = 0;
      while (gap.find()) {
        out.append(word(escaped.substring(from, gap.start()))).append(gap.group());
        from = gap.end();
      }
      return out.append(word(escaped.substring(from))).toString();
    }

    private String word(String word) {
      int start = 0;
      for (int length = 1; length > 0; start += length) {
        length = word.startsWith("&lt;", start) ? 4 : word.startsWith("(", start) || word.startsWith("<", start) ? 1
            : 0;
      }
      int end = word.length();
      for (int length = 1; length > 0; end -= length) {
        length = end <= start ? 0 : word.startsWith("&gt;", end - 4) && end - 4 >= start ? 4
            : ")>.,\n".indexOf(word.charAt(end - 1)) >= 0 ? 1 : 0;
      }
      for (int i = 0; i < OPENING.size(); i++) {
        String closing = CLOSING.get(i);
        long open = count(word.substring(start, end), OPENING.get(i));
        if (open > count(word.substring(start, end), closing)) {
          for (long n = Math.min(open, count(word.substring(end), closing)); n > 0; n--) {
            end = word.indexOf(closing, end) + closing.length();
          }
        }
      }
      return word.substring(0, start) + link(word.substring(start, end)) + word.substring(end);
    }

    private long count(String text, String part) {
      return new TextSearch(render.budget(), part).count(text, 0, text.length());
    }

    private String link(String text) {
      // The patterns below may read a text once for each of its parts.
      render.steps(((long) text.length() * text.length()) >> 10);
      render.reserve(2L * text.length() + attributes.length() + 24);
      if (ADDRESS.matcher(text).matches()) {
        boolean whole = text.startsWith("https://") || text.startsWith("http://");
        return "<a href=\"" + (whole ? "" : "https://") + text + "\"" + attributes + ">" + trimmed(text) + "</a>";
      }
      if (text.startsWith("mailto:") && MAIL.matcher(text.substring(7)).matches()) {
        return "<a href=\"" + text + "\">" + text.substring(7) + "</a>";
      }
      if (text.indexOf('@') > 0 && !text.startsWith("www.") && text.indexOf(':') < 0 && MAIL.matcher(text).matches()) {
        return "<a href=\"mailto:" + text + "\">" + text + "</a>";
      }
      String link = text;
      for (String scheme : schemes) {
        if (!link.equals(scheme) && link.startsWith(scheme)) {
          link = "<a href=\"" + link + "\"" + attributes + ">" + link + "</a>";
        }
      }
      return link;
    }

    private String trimmed(String text) {
      return Text.length(render, text) <= limit ? text : text.substring(0, Text.index(render, text, limit)) + "...";
    }
  }
}
