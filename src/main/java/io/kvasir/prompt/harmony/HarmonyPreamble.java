package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The texts with which conversations begin, as the reference library makes them. */
final class HarmonyPreamble {
  private static final String IDENTITY = "You are ChatGPT, a large language model trained by OpenAI.";

  private HarmonyPreamble() {}

  /**
   * The system's message.
   *
   * @param effort low, medium or high
   * @param date such as 2026-11-28; null when it is not told
   * @param functions whether there are any to call
   */
  static String system(String effort, @Nullable String date, boolean functions) {
    return system(IDENTITY, effort, date, functions);
  }

  /** The same for a model that is told who it is by {@code identity}; by the usual words where that is empty. */
  static String system(String identity, String effort, @Nullable String date, boolean functions) {
    return (identity.isEmpty() ? IDENTITY : identity) + "\nKnowledge cutoff: 2024-06"
        + (date == null ? "" : "\nCurrent date: " + date)
        + "\n\nReasoning: " + effort
        + "\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message."
        + (functions ? "\nCalls to these tools must go to the commentary channel: 'functions'." : "");
  }

  /**
   * The developer's message.
   *
   * @param instructions null for none
   * @param functions with {@code name}, {@code description} and {@code parameters}
   */
  static String developer(@Nullable String instructions, List<JsonNode> functions) {
    List<String> sections = new ArrayList<>();
    if (instructions != null) {
      sections.add("# Instructions");
      sections.add(instructions);
    }
    if (!functions.isEmpty()) {
      sections.add(ToolDeclarations.of(functions));
    }
    return String.join("\n\n", sections);
  }
}
