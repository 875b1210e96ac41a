package io.kvasir.prompt.chat;

import java.util.Map;
import java.util.Set;

/**
 * What SGLang's parser of a model's thoughts does to conversations.
 *
 * <p>Source: SGLang {@code srt/parser/reasoning_parser.py}.
 *
 * @param begin stands before a thought
 * @param end stands behind it
 * @param switches whether a request can switch thinking on and off
 */
public record ReasoningParser(String begin, String end, boolean switches) {
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

  /** Those of models that always think, or are told how much. */
  private static final Set<String> ALWAYS = Set.of("apertus2509", "beam", "cohere_command4", "deepseek-r1",
      "gigachat35", "gpt-oss", "hunyuan", "inkling", "k2_horizon", "kimi", "minimax-append-think", "minimax-m3",
      "mistral", "muse", "step3", "step3p5");

  /** A parser by its name; most have the same marks. */
  static ReasoningParser of(String name) {
    Marks marks = OTHERS.getOrDefault(name, USUAL);
    return new ReasoningParser(marks.begin, marks.end, !ALWAYS.contains(name));
  }

  /** A thought between its marks. */
  public String around(String thought) {
    return begin + thought + "\n" + end;
  }
}
