package io.kvasir.prompt.template;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The version of an SGLang engine, on which depends how it prepares a conversation for its template.
 *
 * @param major the number before the first dot
 * @param minor the number after it
 * @param patch the number after the second dot
 */
public record SglangVersion(int major, int minor, int patch) implements EngineVersion, Comparable<SglangVersion> {
  /** Newer than any: engines whose version cannot be read are taken to prepare as the newest do. */
  public static final SglangVersion NEWEST = new SglangVersion(Integer.MAX_VALUE, 0, 0);

  private static final Pattern NUMBERS =
      Pattern.compile("v?(\\d{1,6})\\.(\\d{1,6})\\.(\\d{1,6})(?!\\d).*", Pattern.DOTALL);

  /** Reads {@code 0.5.23}, {@code 0.5.16.post1}, {@code v0.5.20rc1} …; {@link #NEWEST} for null or anything else. */
  public static SglangVersion of(@Nullable String version) {
    Matcher numbers = NUMBERS.matcher(version == null ? "" : version);
    return numbers.matches()
        ? new SglangVersion(
            Integer.parseInt(numbers.group(1)), Integer.parseInt(numbers.group(2)), Integer.parseInt(numbers.group(3)))
        : NEWEST;
  }

  @Override
  public int compareTo(SglangVersion other) {
    return major != other.major ? Integer.compare(major, other.major)
        : minor != other.minor ? Integer.compare(minor, other.minor) : Integer.compare(patch, other.patch);
  }

  @Override
  public String toString() {
    return "SGLang " + (equals(NEWEST) ? "newest" : major + "." + minor + "." + patch);
  }
}
