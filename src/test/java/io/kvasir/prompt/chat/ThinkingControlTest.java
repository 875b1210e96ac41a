package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What templates show of how thinking is switched, before what SGLang's parsers of thoughts say. */
final class ThinkingControlTest {
  @ParameterizedTest
  @CsvSource(delimiter = ';', value = {
    "qwen3; {{ messages }}; ARGUMENT",
    "deepseek-r1; {{ messages }}; NONE",
    "deepseek-r1; {{ enable_thinking }}; NONE",
    "deepseek-r1; {% if enable_thinking is defined and enable_thinking is false %}x{% endif %}; ARGUMENT",
    "deepseek-r1; {% if not thinking is defined %}{% set thinking = false %}{% endif %}; ARGUMENT",
    "kimi; {%- set enable_thinking = enable_thinking | default(true, boolean=false) -%}; ARGUMENT",
    "kimi; {%- set enable_thinking = enable_thinking | default(false, true) -%}; ARGUMENT",
    "kimi; {%- set enable_thinking = enable_thinking | default(true, true) -%}; NONE",
    "kimi; {{ low_effort }}{{ truncate_history_thinking }}; ARGUMENT",
    "qwen3; {{ '<|im_start|>assistant\\n<think>\\n' }}; NONE",
    "qwen3; {{ '<|im_start|>assistant\\n<think>\\n' }}{{ enable_thinking }}; ARGUMENT",
    "qwen3; <|channel|>{{ thinking | default(true) }}; NONE",
    "mistral; {{ messages }}; MISTRAL_EFFORT",
    "qwen3; {{ reasoning_effort }}[THINK]; MISTRAL_EFFORT",
    "hunyuan; {{ messages }}; HUNYUAN_EFFORT",
  })
  void control_isTheTemplates_orTheParsers(String parser, String template, ThinkingControl control) {
    assertThat(ThinkingControl.of(parser, template)).isEqualTo(control);
  }
}
