package io.kvasir.prompt.chat;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The version of a vLLM engine, on which depends how it prepares a conversation for its template.
 *
 * @param major the number before the first dot
 * @param minor the number after it
 */
public record VllmVersion(int major, int minor) implements EngineVersion, Comparable<VllmVersion> {
  /** Newer than any: engines whose version is not known are taken to prepare as the newest do. */
  public static final VllmVersion NEWEST = new VllmVersion(Integer.MAX_VALUE, 0);

  private static final Pattern NUMBERS = Pattern.compile("v?(\\d{1,6})\\.(\\d{1,6})\\b.*", Pattern.DOTALL);

  /** Reads {@code 0.32.0}, {@code v0.11.1rc2+cpu} …; {@link #NEWEST} for null or anything else. */
  public static VllmVersion of(@Nullable String version) {
    if (version == null || version.contains(".dev")) {
      // A build from between two releases has a version like 0.1.dev9+gabcdef.
      return NEWEST;
    }
    Matcher numbers = NUMBERS.matcher(version);
    return numbers.matches()
        ? new VllmVersion(Integer.parseInt(numbers.group(1)), Integer.parseInt(numbers.group(2))) : NEWEST;
  }

  @Override
  public int compareTo(VllmVersion other) {
    return major != other.major ? Integer.compare(major, other.major) : Integer.compare(minor, other.minor);
  }

  @Override
  public String toString() {
    return "vLLM " + (equals(NEWEST) ? "newest" : major + "." + minor);
  }
}
