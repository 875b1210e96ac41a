package io.kvasir.prompt.chat;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The version of an SGLang engine, and what it was started with, on which depends how it prepares a conversation for
 * its template.
 *
 * @param major the number before the first dot
 * @param minor the number after it
 * @param patch the number after the second dot
 * @param reasoningParser the name of its parser of thoughts, null when it has none
 * @param disaggregated whether prefill and decode are done by two of them: {@code /v1/responses} then comes to
 *     old ones as chat completions, which the router makes of it
 */
public record SglangVersion(int major, int minor, int patch, @Nullable String reasoningParser, boolean disaggregated)
    implements EngineVersion {
  private static final Pattern NUMBERS =
      Pattern.compile("v?(\\d{1,6})\\.(\\d{1,6})\\.(\\d{1,6})(?!\\d).*", Pattern.DOTALL);

  private static final String UNTAGGED = "0.0.0";

  /** An engine can say anything, and the log repeats it. */
  private static final Pattern PARSER = Pattern.compile("[\\w.-]{1,64}");

  /** One that computes prompts and answers. */
  public SglangVersion(int major, int minor, int patch, @Nullable String reasoningParser) {
    this(major, minor, patch, reasoningParser, false);
  }

  /** Leaves out a parser whose name is none. */
  public SglangVersion {
    reasoningParser =
        reasoningParser != null && PARSER.matcher(reasoningParser).matches() ? reasoningParser : null;
  }

  /**
   * Reads {@code 0.5.23}, {@code 0.5.16.post1}, {@code v0.5.20rc1} …; newer than any for null, for {@code 0.0.0.dev0},
   * as what is built without its tags calls itself, and for anything else: such engines are taken to prepare as the
   * newest do.
   */
  public static SglangVersion of(@Nullable String version, @Nullable String reasoningParser) {
    Matcher numbers = NUMBERS.matcher(version == null || version.startsWith(UNTAGGED) ? "" : version);
    return numbers.matches()
        ? new SglangVersion(
            Integer.parseInt(numbers.group(1)), Integer.parseInt(numbers.group(2)), Integer.parseInt(numbers.group(3)),
            reasoningParser)
        : new SglangVersion(Integer.MAX_VALUE, 0, 0, reasoningParser);
  }

  /** It refuses them before 0.5.12. */
  @Override
  public boolean tokenizesConversations() {
    return major > 0 || minor > 5 || (minor == 5 && patch >= 12);
  }

  @Override
  public SglangVersion asDisaggregated() {
    return new SglangVersion(major, minor, patch, reasoningParser, true);
  }

  @Override
  public String toString() {
    String numbers = major == Integer.MAX_VALUE ? "newest" : major + "." + minor + "." + patch;
    String whole = "SGLang " + numbers + (reasoningParser == null ? "" : " with reasoning parser " + reasoningParser);
    return disaggregated ? whole + ", prefill and decode disaggregated" : whole;
  }
}
