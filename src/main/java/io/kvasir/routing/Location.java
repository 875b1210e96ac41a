package io.kvasir.routing;

/**
 * The place a request comes from, for locality. Empty parts are not known.
 *
 * @param region the region, such as {@code eu-west-1}
 * @param zone the zone within the region
 * @param host the host within the zone
 */
public record Location(String region, String zone, String host) {
  private static final char SEPARATOR = '\n';

  /** The text form, which {@link #decode} reads. Line feeds within a part become spaces. */
  public String encode() {
    return oneLine(region) + SEPARATOR + oneLine(zone) + SEPARATOR + oneLine(host);
  }

  /** A location from its text form; parts that are missing are empty. */
  public static Location decode(String text) {
    int regionEnd = end(text, 0);
    int zoneEnd = end(text, regionEnd + 1);
    return new Location(
        text.substring(0, regionEnd), part(text, regionEnd + 1, zoneEnd), part(text, zoneEnd + 1, text.length()));
  }

  private static String oneLine(String part) {
    return part.replace(SEPARATOR, ' ');
  }

  private static int end(String text, int from) {
    int end = text.indexOf(SEPARATOR, from);
    return end < 0 ? text.length() : end;
  }

  private static String part(String text, int from, int to) {
    return from < to ? text.substring(from, to) : "";
  }
}
