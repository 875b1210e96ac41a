package io.kvasir.prompt.chat;

import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
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

  private static final List<Toggle> TOGGLES = List.of(Toggle.of("enable_thinking"), Toggle.of("thinking"));

  /**
   * How templates show that an argument switches something: by its value where a request has none. All are found in
   * linear time, or a bounded one for each place.
   *
   * @param unset begins what is done where there is none
   * @param set is what is then done, anywhere behind it
   * @param others do the same at once
   */
  private record Toggle(Pattern unset, Pattern set, List<Pattern> others) {
    static Toggle of(String name) {
      return new Toggle(
          pattern("\\{%\\s*if\\s+not\\s+NAME\\s+is\\s+defined\\s*%}", name),
          pattern("\\{%\\s*set\\s+NAME\\s*=\\s*(?:true|True|false|False)\\s*%}", name),
          Stream.of(
                  "set\\s+NAME\\s*=\\s*NAME\\s+if\\s+NAME\\s+is\\s+defined\\s+else\\s+(?:true|True)",
                  "NAME\\s+is\\s+defined\\s+and\\s+(?:NAME\\s+is\\s+false|not\\s+NAME)",
                  "NAME\\s+is\\s+not\\s+defined\\s+or\\s+NAME",
                  "namespace\\([^)]{0,1000}NAME\\s*=\\s*true",
                  "(?<![\\w.])NAME\\s*\\|\\s*(?:default|d)\\(\\s*(?:"
                      + "(?:true|True)\\s*(?:,\\s*(?:boolean\\s*=\\s*)?[fF]alse\\s*)?|"
                      + "(?:false|False)\\s*(?:,[^)]{0,1000})?)\\)")
              .map(how -> pattern(how, name))
              .toList());
    }

    private static Pattern pattern(String how, String name) {
      return Pattern.compile(how.replace("NAME", name));
    }

    boolean isIn(String template) {
      Matcher begin = unset.matcher(template);
      return (begin.find() && set.matcher(template).find(begin.end()))
          || others.stream().anyMatch(other -> other.matcher(template).find());
    }
  }

  /** That of a parser and the source of a template. */
  static ThinkingControl of(String parser, String template) {
    if (parser.equals("hunyuan")) {
      return HUNYUAN_EFFORT;
    }
    if (template.contains("<|channel|>") || alwaysThinks(template)) {
      return NONE;
    }
    if (template.contains("reasoning_effort") && template.contains("[THINK]")) {
      return MISTRAL_EFFORT;
    }
    boolean nemotron = template.contains("low_effort") && template.contains("truncate_history_thinking");
    if (nemotron || TOGGLES.stream().anyMatch(toggle -> toggle.isIn(template))) {
      return ARGUMENT;
    }
    return parser.equals("mistral") ? MISTRAL_EFFORT : ALWAYS.contains(parser) ? NONE : ARGUMENT;
  }

  private static boolean alwaysThinks(String template) {
    return template.contains("<|im_start|>assistant\\n<think>\\n") && !template.contains("thinking");
  }
}
