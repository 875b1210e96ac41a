package io.kvasir.prompt.harmony;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A message.
 *
 * @param author a role; of a tool's result the tool
 * @param recipient to whom it is addressed, null for everybody
 * @param channel null for messages that are in none
 * @param contentType null for text
 * @param contents its texts
 */
record HarmonyMessage(
    String author, @Nullable String recipient, @Nullable String channel, @Nullable String contentType,
    List<String> contents) {
  static final String ASSISTANT = "assistant";
  static final String ANALYSIS = "analysis";
  static final String COMMENTARY = "commentary";
  static final String FINAL = "final";
  static final String FUNCTIONS = "functions.";
  static final String JSON = "json";

  /** Arguments by which answers are held to JSON. */
  static final String CONSTRAINED_JSON = "<|constrain|>json";

  static final String START = "<|start|>";

  static HarmonyMessage of(String role, List<String> contents) {
    return new HarmonyMessage(role, null, null, null, contents);
  }

  static HarmonyMessage of(String role, String content) {
    return of(role, List.of(content));
  }

  static HarmonyMessage ofAssistant(String channel, List<String> contents) {
    return new HarmonyMessage(ASSISTANT, null, channel, null, contents);
  }

  static HarmonyMessage call(String function, String arguments) {
    return new HarmonyMessage(ASSISTANT, FUNCTIONS + function, COMMENTARY, JSON, List.of(arguments));
  }

  static HarmonyMessage result(String function, String output) {
    return new HarmonyMessage(FUNCTIONS + function, ASSISTANT, COMMENTARY, null, List.of(output));
  }

  boolean isOfAssistant(String inChannel) {
    return author.equals(ASSISTANT) && inChannel.equals(channel);
  }

  /**
   * Prints the message.
   *
   * @param recipientsLast whether whom a tool's result is for is written after the channel; of calls it never is
   */
  void print(HarmonyText into, boolean recipientsLast) {
    boolean last = recipientsLast && !author.equals(ASSISTANT);
    String to = recipient == null ? "" : " to=" + recipient;
    into.special(START);
    into.text(last ? author : author + to);
    if (channel != null) {
      into.special("<|channel|>");
      String where = last ? channel + to : channel;
      if (CONSTRAINED_JSON.equals(contentType)) {
        into.text(where + " ");
        into.special("<|constrain|>");
        into.text(JSON);
      } else {
        into.text(where + (contentType == null ? "" : " " + contentType));
      }
    }
    into.special("<|message|>");
    contents.forEach(into::text);
    into.special(author.equals(ASSISTANT) && recipient != null ? "<|call|>" : "<|end|>");
  }
}
