package io.kvasir.sim.lmcache;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The address of an LMCache controller for its workers.
 *
 * @param host name or address
 * @param pullPort of workers' reports, which get no reply
 * @param replyPort of workers' requests
 */
public record ControllerAddress(String host, int pullPort, int replyPort) {
  private static final Pattern FORM = Pattern.compile("([^:,\\s]+)(?::(\\d{1,5}),(\\d{1,5}))?");

  /**
   * Reads {@code host:pull,reply}, or a host alone for LMCache's usual ports 8300 and 8400.
   *
   * @throws IllegalArgumentException when {@code text} is neither
   */
  public static ControllerAddress parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException("must look like host or host:pull-port,reply-port, is '" + text + "'");
    }
    return matcher.group(2) == null
        ? new ControllerAddress(matcher.group(1), 8300, 8400)
        : new ControllerAddress(
            matcher.group(1), Integer.parseInt(matcher.group(2)), Integer.parseInt(matcher.group(3)));
  }

  @Override
  public String toString() {
    return host + ":" + pullPort + "," + replyPort;
  }

  String pull() {
    return "tcp://" + host + ":" + pullPort;
  }

  String reply() {
    return "tcp://" + host + ":" + replyPort;
  }
}
