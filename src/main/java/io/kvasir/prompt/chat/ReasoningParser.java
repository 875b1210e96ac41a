package io.kvasir.prompt.chat;

import java.util.Map;

/**
 * What SGLang's parser of a model's thoughts does to conversations.
 *
 * <p>Source: SGLang {@code srt/parser/reasoning_parser.py}.
 *
 * @param begin stands before a thought
 * @param end stands behind it
 * @param control how a request switches thinking on and off
 */
public record ReasoningParser(String begin, String end, ThinkingControl control) {
  private record Marks(String begin, String end) {}

  private static final Marks USUAL = new Marks("<think>", "</think>");

  private static final Map<String, Marks> OTHERS = Map.ofEntries(
      Map.entry("apertus2509", new Marks("<|inner_prefix|>", "<|inner_suffix|>")),
      Map.entry("beam", new Marks("<|channel|>analysis<|message|>", "<|end|><|start|>assistant")),
      Map.entry("cohere_command4", new Marks("<|START_THINKING|>", "<|END_THINKING|>")),
      Map.entry("gemma4", new Marks("<|channel>thought\n", "<channel|>")),
      Map.entry("gpt-oss", new Marks("<|channel|>analysis<|message|>", "<|end|>")),
      Map.entry("inkling", new Marks("<|content_thinking|>", "<|end_message|>")),
      Map.entry("k2_horizon", new Marks("<ifm|think>", "</ifm|think>")),
      Map.entry("kimi", new Marks("◁think▷", "◁/think▷")),
      Map.entry("kimi_k3", new Marks("<|open|>think<|sep|>", "<|close|>think<|sep|>")),
      Map.entry("minimax-m3", new Marks("<mm:think>", "</mm:think>")),
      Map.entry("mistral", new Marks("[THINK]", "[/THINK]")),
      Map.entry("muse", new Marks(" to=self<|message|>", "<|eom|>")));

  /**
   * A parser by its name; most have the same marks.
   *
   * @param template the model's, which decides on the control where it shows one
   */
  static ReasoningParser of(String name, String template) {
    Marks marks = OTHERS.getOrDefault(name, USUAL);
    return new ReasoningParser(marks.begin, marks.end, ThinkingControl.of(name, template));
  }

  /** A thought between its marks. */
  public String around(String thought) {
    return begin + thought + "\n" + end;
  }
}
