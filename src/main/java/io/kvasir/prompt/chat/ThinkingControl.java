package io.kvasir.prompt.chat;

import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * How a {@code /v1/messages} request switches thinking on and off, as SGLang finds it out of the model's template, or
 * where that shows nothing, takes it from its parser of thoughts.
 *
 * <p>Source: SGLang {@code srt/parser/template_detection.py}, and {@code apply_reasoning_enabled} of {@code
 * srt/entrypoints/openai/serving_chat.py}.
 */
public enum ThinkingControl {
  /** Not at all: the model always thinks, or never does. */
  NONE,
  /** By an argument of the template, of one of two names. */
  ARGUMENT,
  /** By the efforts {@code medium} and {@code none}. */
  MISTRAL_EFFORT,
  /** By the efforts {@code high} and {@code no_think}. */
  HUNYUAN_EFFORT;

  /** Parsers of models that always think, or are told how much. */
  private static final Set<String> ALWAYS = Set.of("apertus2509", "beam", "cohere_command4", "deepseek-r1",
      "gigachat35", "gpt-oss", "inkling", "k2_horizon", "kimi", "minimax-append-think", "minimax-m3", "muse", "step3",
      "step3p5");

  /** Ways in which a template gives an argument a value where a request has none. */
  private static final List<String> DEFAULTS = List.of(
      "\\{%\\s*if\\s+not\\s+NAME\\s+is\\s+defined\\s*%}.*?\\{%\\s*set\\s+NAME\\s*=\\s*(?:true|True|false|False)\\s*%}",
      "set\\s+NAME\\s*=\\s*NAME\\s+if\\s+NAME\\s+is\\s+defined\\s+else\\s+(?:true|True)",
      "NAME\\s+is\\s+defined\\s+and\\s+(?:NAME\\s+is\\s+false|not\\s+NAME)",
      "NAME\\s+is\\s+not\\s+defined\\s+or\\s+NAME",
      "namespace\\([^)]*NAME\\s*=\\s*true",
      "(?<![\\w.])NAME\\s*\\|\\s*(?:default|d)\\(\\s*(?:(?:true|True)\\s*(?:,\\s*(?:boolean\\s*=\\s*)?[fF]alse\\s*)?|"
          + "(?:false|False)\\s*(?:,[^)]*)?)\\)");

  private static final List<Pattern> TOGGLES = Stream.of("enable_thinking", "thinking")
      .flatMap(name -> DEFAULTS.stream().map(how -> Pattern.compile(how.replace("NAME", name), Pattern.DOTALL)))
      .toList();

  /** That of a parser and the source of a template. */
  static ThinkingControl of(String parser, String template) {
    boolean efforts = template.contains("reasoning_effort");
    if (parser.equals("hunyuan")) {
      return HUNYUAN_EFFORT;
    }
    if (template.contains("<|channel|>") || alwaysThinks(template)) {
      return NONE;
    }
    if (efforts && template.contains("[THINK]")) {
      return MISTRAL_EFFORT;
    }
    boolean nemotron = template.contains("low_effort") && template.contains("truncate_history_thinking");
    if (nemotron || TOGGLES.stream().anyMatch(toggle -> toggle.matcher(template).find())) {
      return ARGUMENT;
    }
    return parser.equals("mistral") ? MISTRAL_EFFORT : ALWAYS.contains(parser) ? NONE : ARGUMENT;
  }

  private static boolean alwaysThinks(String template) {
    return template.contains("<|im_start|>assistant\\n<think>\\n") && !template.contains("thinking");
  }
}
