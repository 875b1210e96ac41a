package io.kvasir.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.util.regex.Pattern;

/** What is wrong with JSON that was sent, in Jackson's words, but without what is not the sender's to set there. */
public final class JsonFault {
  /**
   * The method that sets a limit, the option that would allow what is no JSON, such as NaN, and the one that would show
   * what came before.
   */
  private static final Pattern OF_JACKSON =
      Pattern.compile(", from `[^`]*`|: enable `[^`]*` to allow| \\(start marker at \\[Source: [^]]*\\]\\)");

  private JsonFault() {}

  /** The fault alone. */
  public static String words(JsonProcessingException fault) {
    return OF_JACKSON.matcher(fault.getOriginalMessage()).replaceAll("");
  }

  /** The fault and its place. */
  public static String placed(JsonProcessingException fault) {
    return "%s at line %d, column %d".formatted(
        words(fault), fault.getLocation().getLineNr(), fault.getLocation().getColumnNr());
  }
}
