package io.kvasir.sim.settings;

import java.util.Arrays;
import java.util.Locale;

/** What is wrong with a whole engine, for as long as it lasts. */
public enum EngineCondition {
  /** It refuses connections; those that are open go on. */
  REFUSE,
  /** It takes requests and stands still: its queue grows, no token comes, and {@code /health} is fine. */
  WEDGE,
  /** Every step takes ten times as long, and ten milliseconds more. */
  SLOW,
  /** It finishes its requests and refuses new ones with 503, also {@code /health}. */
  DRAIN,
  /** Every third message of cache events is lost on its way; a replay has it. */
  LOSSY,
  /** Its events say what is stored in its cache, and never what is removed. */
  STORES_ONLY,
  /** Its sockets of events and load are there, and nothing comes. */
  SILENT,
  /** Its events and its load are no MessagePack. */
  GARBLED,
  /** Its clock, as its events have it, is a minute ahead. */
  FAST_CLOCK,
  /** Its events do not tell a block's salt. */
  UNSALTED,
  /** It finds nothing in its cache, whatever its events say. */
  FORGETFUL,
  /** It ends every stream with its usage, asked or not, as vLLM does with {@code --enable-force-include-usage}. */
  UNASKED_USAGE;

  /**
   * Reads a condition's name.
   *
   * @throws IllegalArgumentException when there is none of that name; the message lists those that there are
   */
  public static EngineCondition parse(String name) {
    return Arrays.stream(EngineCondition.values())
        .filter(condition -> condition.toString().equals(name.toLowerCase(Locale.ROOT)))
        .findFirst()
        .orElseThrow(() ->
            new IllegalArgumentException("'" + name + "' is not one of " + Arrays.toString(EngineCondition.values())));
  }

  /** Such as {@code wedge} or {@code stores-only}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
