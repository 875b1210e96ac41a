package io.kvasir.http.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a strict recipient by RFC 9112 reads in all that a client sends: written for clearness, from whole text with
 * regular expressions, and apart from the parser under test. Where the RFC leaves a choice, it rejects.
 */
final class ReferenceParser {
  private static final Pattern REQUEST_LINE = Pattern.compile("([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/1\\.([01])");
  private static final Pattern TARGET = Pattern.compile("/.*|\\*|(?i:https?://).*");
  private static final String NAME = "([!#$%&'*+.^_`|~0-9A-Za-z-]+):";
  private static final String UTF_8 =
      "[\t\\x20-\\x7e]++|[\\xc2-\\xdf][\\x80-\\xbf]|[\\xe0-\\xef][\\x80-\\xbf]{2}|[\\xf0-\\xf4][\\x80-\\xbf]{3}";
  private static final Pattern FIELD = Pattern.compile(NAME + "((?:" + UTF_8 + ")*+)");
  private static final Pattern TRAILER = Pattern.compile(NAME + "[\t\\x20-\\x7e\\x80-\\xff]*");
  private static final Pattern CHUNK_LINE = Pattern.compile("([0-9A-Fa-f]{1,16})(;[\t\\x20-\\x7e\\x80-\\xff]*)?");
  private static final Pattern LENGTH = Pattern.compile("[0-9]{1,18}");

  private final String text;
  private final List<Request> requests = new ArrayList<>();
  private int at;

  /** A request that was read whole. */
  record Request(String method, String target, String body) {}

  /** How reading ended. */
  enum End {
    /** The client has sent all of its last request, or a part of one more. */
    MORE,
    /** The last request was the last on its connection. */
    CLOSED,
    /** What follows is malformed. */
    REJECTED
  }

  /** What was read. */
  record Reading(List<Request> requests, End end) {}

  private static final class Rejected extends Exception {
    private static final long serialVersionUID = 1L;
  }

  private static final class Incomplete extends Exception {
    private static final long serialVersionUID = 1L;
  }

  private ReferenceParser(byte[] bytes) {
    text = new String(bytes, ISO_8859_1);
  }

  static Reading read(byte[] bytes) {
    ReferenceParser parser = new ReferenceParser(bytes);
    try {
      while (parser.at < parser.text.length()) {
        if (parser.request()) {
          return new Reading(parser.requests, End.CLOSED);
        }
      }
      return new Reading(parser.requests, End.MORE);
    } catch (Incomplete e) {
      return new Reading(parser.requests, End.MORE);
    } catch (Rejected e) {
      return new Reading(parser.requests, End.REJECTED);
    }
  }

  /** Reads a request; whether it is the connection's last. */
  private boolean request() throws Rejected, Incomplete {
    Matcher start = REQUEST_LINE.matcher(line());
    require(start.matches() && TARGET.matcher(start.group(2)).matches());
    boolean http10 = start.group(3).equals("0");
    List<String> hosts = new ArrayList<>();
    List<String> lengths = new ArrayList<>();
    List<String> codings = new ArrayList<>();
    List<String> options = new ArrayList<>();
    int fields = 0;
    for (String line = line(); !line.isEmpty(); line = line()) {
      Matcher field = FIELD.matcher(line);
      require(field.matches());
      fields++;
      String value = field.group(2).replaceAll("^[ \t]+|[ \t]+$", "");
      switch (field.group(1).toLowerCase(Locale.ROOT)) {
        case "host" -> hosts.add(value);
        case "content-length" -> lengths.add(value);
        case "transfer-encoding" -> codings.add(value.toLowerCase(Locale.ROOT));
        case "connection" -> options.addAll(List.of(value.toLowerCase(Locale.ROOT).split("[, \t]+")));
        default -> {
          // Nothing about framing.
        }
      }
    }
    require(fields <= 128 && start.group(2).length() <= 8192);
    require(hosts.size() == 1 || (http10 && hosts.isEmpty()));
    require(lengths.size() + codings.size() <= 1);
    String body = "";
    if (!codings.isEmpty()) {
      require(codings.equals(List.of("chunked")) && !http10);
      body = chunks();
    } else if (!lengths.isEmpty()) {
      require(LENGTH.matcher(lengths.getFirst()).matches());
      body = take(Long.parseLong(lengths.getFirst()));
    }
    requests.add(new Request(start.group(1), start.group(2), body));
    return options.contains("close") || (http10 && !options.contains("keep-alive"));
  }

  private String chunks() throws Rejected, Incomplete {
    StringBuilder body = new StringBuilder();
    while (true) {
      Matcher chunk = CHUNK_LINE.matcher(line());
      require(chunk.matches());
      String digits = chunk.group(1).replaceFirst("^0+(?=.)", "");
      require(digits.length() <= 8 && Long.parseLong(digits, 16) <= Integer.MAX_VALUE);
      long size = Long.parseLong(digits, 16);
      if (size == 0) {
        break;
      }
      body.append(take(size));
      expect("\r\n");
    }
    for (String line = line(); !line.isEmpty(); line = line()) {
      require(TRAILER.matcher(line).matches());
    }
    return body.toString();
  }

  /** A line that ends in CR LF, without it. */
  private String line() throws Rejected, Incomplete {
    int end = text.indexOf('\n', at);
    if (end < 0) {
      throw new Incomplete();
    }
    require(end > at && text.charAt(end - 1) == '\r');
    String line = text.substring(at, end - 1);
    at = end + 1;
    return line;
  }

  private String take(long count) throws Incomplete {
    if (count > text.length() - at) {
      throw new Incomplete();
    }
    at += (int) count;
    return text.substring(at - (int) count, at);
  }

  private void expect(String next) throws Rejected, Incomplete {
    for (int i = 0; i < next.length(); i++) {
      if (at == text.length()) {
        throw new Incomplete();
      }
      require(text.charAt(at++) == next.charAt(i));
    }
  }

  private static void require(boolean holds) throws Rejected {
    if (!holds) {
      throw new Rejected();
    }
  }
}
