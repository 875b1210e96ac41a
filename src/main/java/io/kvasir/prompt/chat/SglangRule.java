package io.kvasir.prompt.chat;

/**
 * The changes in how SGLang prepares a conversation for its template since 0.5.13, each with the version since which it
 * holds. What is older is taken for 0.5.13.
 */
public enum SglangRule {
  /** Arguments of calls must be objects; before, they could be any JSON. */
  OBJECT_ARGUMENTS(14),
  /**
   * {@code /v1/messages} are read whole and in order: thoughts, efforts, what was found, empty texts and turns; what a
   * user said comes before the results that follow it.
   */
  MESSAGES_IN_FULL(14),
  /** A system message of parts has what precedes it in the Harmony format once; before, each part does. */
  HARMONY_PARTS(14),
  /**
   * Items of one turn in {@code /v1/responses} are one message, what a developer says is the system's, and such
   * messages come first; before, items are messages of chats as they are.
   */
  RESPONSES_BY_TURNS(14),
  /**
   * System messages between others stay there where the template has them: {@link MessagesRules}. One of empty texts is
   * none.
   */
  INLINE_SYSTEM(15),
  /** A reasoning effort switches thinking on; before, {@code none} alone switched it off. */
  EFFORT_SWITCHES_THINKING(16),
  /** Templates that have a switch for little effort are told. */
  LOW_EFFORT(16),
  /** References to tools in a tool's result are a message of their own. */
  REFERENCES_APART(17),
  /** What an engine wrote and is sent back to {@code /v1/responses} is read; before, it was lost or refused. */
  RESPONSES_REPLAYED(18),
  /** {@code /v1/responses} reads a cache salt. */
  RESPONSES_SALT(18),
  /** Template arguments of {@code /v1/responses} are read. */
  RESPONSES_KWARGS(18),
  /**
   * {@code /v1/responses} has custom tools, thoughts that the server packed and phases of an answer, and what a
   * developer says has a label.
   */
  CUSTOM_TOOLS(20),
  /**
   * In the Harmony format thoughts have a channel, what was answered its phase, and its parts are read; before,
   * thoughts are a message like others.
   */
  HARMONY_CHANNELS(20),
  /** Where prefill and decode are disaggregated, {@code /v1/responses} takes a room of the bootstrap server. */
  RESPONSES_SPLIT(20),
  /** System messages of {@code /v1/responses} between others stay there where the template has them. */
  RESPONSES_INLINE_SYSTEM(22),
  /** {@code /v1/messages} does, too. */
  MESSAGES_SPLIT(22),
  /** Thoughts alone belong to what the assistant says next, whatever its phase is. */
  THOUGHTS_OF_ANY_PHASE(23),
  /** Messages of {@code /v1/responses} are read as sent; before, without what OpenAI's library has no type for. */
  RESPONSES_AS_SENT(23),
  /** {@code strict} of a tool in {@code /v1/messages} is read. */
  MESSAGES_STRICT(23),
  /** A function's fields come as they were sent, {@code strict} only if it was; before, always and in one order. */
  FUNCTION_AS_SENT(23);

  private static final int OLDEST = 13;

  /** Of version 0.5. */
  private final int patch;

  SglangRule(int patch) {
    this.patch = patch;
  }

  /** Since which version of 0.5 engines prepare conversations as this one does; 13 for those before any change. */
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
