package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The texts with which conversations begin, as the reference library makes them. */
public final class HarmonyPreamble {
  private HarmonyPreamble() {}

  /**
   * The system's message.
   *
   * @param effort low, medium or high
   * @param date such as 2026-11-28
   * @param functions whether there are any to call
   */
  public static String system(String effort, String date, boolean functions) {
    return "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06"
        + "\nCurrent date: " + date
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
  public static String developer(@Nullable String instructions, List<JsonNode> functions) {
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
