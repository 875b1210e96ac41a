package io.kvasir.prompt.chat;

/**
 * The changes in how SGLang prepares a conversation for its template since 0.5.14, each with the version since which it
 * holds. What is older is taken for 0.5.14.
 */
public enum SglangRule {
  /** System messages between others stay there where the template has them: {@link MessagesRules}. */
  INLINE_SYSTEM(15),
  /** A reasoning effort switches thinking on; before, {@code none} alone switched it off. */
  EFFORT_SWITCHES_THINKING(16),
  /** Templates that have a switch for little effort are told. */
  LOW_EFFORT(16),
  /** Template arguments of {@code /v1/responses} are read. */
  RESPONSES_KWARGS(18),
  /**
   * {@code /v1/responses} has custom tools, thoughts that the server packed and phases of an answer, and what a
   * developer says has a label.
   */
  CUSTOM_TOOLS(20),
  /** System messages of {@code /v1/responses} between others stay there where the template has them. */
  RESPONSES_INLINE_SYSTEM(22),
  /** Thoughts alone belong to what the assistant says next, whatever its phase is. */
  THOUGHTS_OF_ANY_PHASE(23),
  /** A function's fields come as they were sent, {@code strict} only if it was; before, always and in one order. */
  FUNCTION_AS_SENT(23);

  private static final int OLDEST = 14;

  /** Of version 0.5. */
  private final int patch;

  SglangRule(int patch) {
    this.patch = patch;
  }

  /** Since which version of 0.5 engines prepare conversations as this one does; 14 for those before any change. */
  static int latest(SglangVersion version) {
    int latest = OLDEST;
    for (SglangRule rule : values()) {
      latest = rule.holds(version) ? Math.max(latest, rule.patch) : latest;
    }
    return latest;
  }

  /** Whether engines of a version prepare conversations so. */
  public boolean holds(SglangVersion version) {
    return version.major() > 0 || version.minor() > 5 || (version.minor() == 5 && version.patch() >= patch);
  }
}
