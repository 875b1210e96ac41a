package io.kvasir.prompt.chat;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The version of a TensorRT-LLM engine, on which depends how it prepares a conversation for its template.
 *
 * @param major the number before the first dot
 * @param minor the number after it
 * @param disaggregated whether prefill and decode are done by two of them: {@code /v1/responses} then comes to them as
 *     chat completions, which the router makes of it
 */
public record TensorRtVersion(int major, int minor, boolean disaggregated) implements EngineVersion {
  private static final Pattern NUMBERS = Pattern.compile("v?(\\d{1,6})\\.(\\d{1,6})\\b.*", Pattern.DOTALL);

  /**
   * Reads {@code 1.2.1}, {@code 1.3.0rc26} …; newer than any for null or anything else: such engines are taken to
   * prepare as the newest do.
   */
  public static TensorRtVersion of(@Nullable String version) {
    Matcher numbers = NUMBERS.matcher(version == null ? "" : version);
    return numbers.matches()
        ? new TensorRtVersion(Integer.parseInt(numbers.group(1)), Integer.parseInt(numbers.group(2)), false)
        : new TensorRtVersion(Integer.MAX_VALUE, 0, false);
  }

  @Override
  public boolean tokenizesConversations() {
    return false;
  }

  @Override
  public TensorRtVersion asDisaggregated() {
    return new TensorRtVersion(major, minor, true);
  }

  @Override
  public String toString() {
    String whole = "TensorRT-LLM " + (major == Integer.MAX_VALUE ? "newest" : major + "." + minor);
    return disaggregated ? whole + ", prefill and decode disaggregated" : whole;
  }
}
