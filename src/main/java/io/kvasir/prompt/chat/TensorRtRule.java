package io.kvasir.prompt.chat;

/**
 * The changes in how TensorRT-LLM prepares a conversation for its template since 1.2, each with the version since which
 * it holds; of 1.3 there are only candidates, of which the latest count. What is older is taken for 1.2.
 */
public enum TensorRtRule {
  /** Thoughts of the assistant's stay in the conversation. */
  THOUGHTS(3),
  /** Functions always have {@code strict}, null where it was not sent. */
  TOOL_STRICT(3),
  /** Arguments of calls that are no JSON stay as they were sent, empty ones too; before, they were none or refused. */
  ARGUMENTS_AS_SENT(3),
  /** Where the template reads parts, messages with media have them; before, placeholders are put into their text. */
  MEDIA_PARTS(3),
  /** Messages of the system's may have tools of their own. */
  SYSTEM_TOOLS(3),
  /** Items of {@code /v1/responses} are messages of their roles, calls are calls, and reasoning is told. */
  RESPONSES_ITEMS(3);

  private static final int OLDEST = 2;

  /** Of version 1. */
  private final int minor;

  TensorRtRule(int minor) {
    this.minor = minor;
  }

  /** Since which version of 1 engines prepare conversations as this one does; 2 for those before any change. */
  static int latest(TensorRtVersion version) {
    int latest = OLDEST;
    for (TensorRtRule rule : values()) {
      latest = rule.holds(version) ? Math.max(latest, rule.minor) : latest;
    }
    return latest;
  }

  /** Whether engines of a version prepare conversations so. */
  public boolean holds(TensorRtVersion version) {
    return version.major() > 1 || (version.major() == 1 && version.minor() >= minor);
  }
}
