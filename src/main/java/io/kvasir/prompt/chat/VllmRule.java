package io.kvasir.prompt.chat;

/** The changes in how vLLM prepares a conversation for its template, each with the version since which it holds. */
public enum VllmRule {
  /** Thoughts sent back as {@code reasoning_content} are left out; before, they stood for absent {@code reasoning}. */
  REASONING_ALONE(16),
  /**
   * The thoughts of a reasoning item of {@code /v1/responses} are its content; before, its summary if it had one. In
   * the Harmony format they have a channel.
   */
  RESPONSES_THOUGHTS(18),
  /** In {@code /v1/messages} a system block that differs in each request of some clients is left out. */
  MESSAGES_BILLING(18),
  /** In {@code /v1/messages} no empty turn of the user's is left of a message that has results of tools alone. */
  MESSAGES_OF_RESULTS(19),
  /** Template arguments of {@code /v1/messages} are read. */
  MESSAGES_KWARGS(20),
  /** Texts of a tool's result are one text where a template reads parts, too. */
  TOOL_TEXT(20),
  /** Message fields named {@code task} are kept. */
  TASK(20),
  /** A tool's result may have parts that are no texts, and stays a list with them. */
  TOOL_PARTS(21),
  /** {@code defer_loading} is a field of tools and of their functions, and left out where it is null. */
  TOOL_DEFER_LOADING(21),
  /** A loop over a variable named {@code content} makes a template one that reads parts. */
  CONTENT_VARIABLE(22),
  /** In the Harmony format results of functions in {@code /v1/responses} have a channel and a recipient. */
  HARMONY_RESULTS_IN_CHANNEL(22),
  /** {@code reasoning_content} is another name of {@code reasoning}. */
  REASONING_CONTENT(22),
  /** A reasoning effort switches thinking on, {@code none} off. */
  EFFORT_SWITCHES_THINKING(22),
  /** Items of {@code /v1/responses} add to the assistant's turn, and template arguments of it are read. */
  RESPONSES_TURNS(22),
  /** Arguments of tool calls that are null become an empty object. */
  NULL_ARGUMENTS(23),
  /**
   * In the Harmony format what the system or the developer says first are the instructions, and the rest the
   * developer's; before, all stood where it was said, as it was said.
   */
  HARMONY_INSTRUCTIONS(23),
  /** In {@code /v1/messages} no empty message is left of a system prompt that has blocks but no text. */
  MESSAGES_EMPTY_SYSTEM(23),
  /** {@code /v1/messages} reads a reasoning effort. */
  MESSAGES_EFFORT(23),
  /** A template that does not name the role {@code developer} gets system messages instead: {@link DeveloperRole}. */
  DEVELOPER_AS_SYSTEM(23),
  /** {@link #MESSAGES_BILLING} also holds for system messages between others that are one text. */
  INLINE_BILLING(24),
  /** {@code strict} is a field of a tool's function, and left out where it is null. */
  TOOL_STRICT(24),
  /** {@code /v1/responses} has tools in namespaces, and reads an assistant's message in every form. */
  RESPONSES_NAMESPACES(25),
  /** Fields of text parts that the API does not have are kept. */
  PART_FIELDS(26),
  /** Fields of tools and their functions that the API does not have are left out: {@link VllmTools}. */
  TOOL_FIELDS(27),
  /** {@code /v1/messages} reads a cache salt. */
  MESSAGES_SALT(27),
  /** Arguments of tool calls that are no JSON object become an empty one; before, they were any JSON value. */
  OBJECT_ARGUMENTS(29),
  /** A loop in a macro that is given a message's content counts; one over {@code content} only outside of macros. */
  MACRO_CONTENT(30),
  /**
   * System messages of {@code /v1/messages} between others stay there where the template has them; before, only where
   * one of the command line had: {@link MessagesRules}.
   */
  INLINE_SYSTEM(31),
  /** {@code /v1/messages} reads {@code thinking}: that it is switched off ({@link MessagesRules}), and its budget. */
  MESSAGES_THINKING(31),
  /** In the Harmony format the recipient of a tool's result is written after the channel. */
  HARMONY_RECIPIENTS(31),
  /** A first line of system texts that differs in each request of some clients is left out. */
  BILLING_HEADER(32),
  /** Blocks in system messages of {@code /v1/messages} add and remove tools. */
  TOOL_CHANGES(32),
  /** {@code /v1/responses} has custom tools: functions of one text. */
  RESPONSES_CUSTOM_TOOLS(32),
  /** Messages are followed into namespaces: {@code namespace(rest=messages)}, {@code set ns.rest = messages}. */
  NAMESPACE_MESSAGES(33),
  /** {@code /tokenize} renders the Harmony format of models that converse in it; before, their chat template. */
  HARMONY_TOKENIZED(33);

  /** Of version 0. */
  private final int minor;

  VllmRule(int minor) {
    this.minor = minor;
  }

  /** Since which version of 0 engines prepare conversations as this one does; 0 for those before the first change. */
  static int latest(VllmVersion version) {
    int latest = 0;
    for (VllmRule rule : values()) {
      latest = rule.holds(version) ? Math.max(latest, rule.minor) : latest;
    }
    return latest;
  }

  /** Whether it holds for a version. */
  public boolean holds(VllmVersion version) {
    return version.major() > 0 || version.minor() >= minor;
  }
}
