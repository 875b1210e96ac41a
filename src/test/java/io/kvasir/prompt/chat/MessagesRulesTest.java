package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What templates show of system messages between others, and of thinking that is switched off. */
final class MessagesRulesTest {
  private static final String PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";

  private static MessagesRules rules(ChatTemplates templates, VllmVersion engine) {
    TemplateRenderer prompt = new TemplateRenderer(templates, Map.of(), NanoClock.SYSTEM);
    return MessagesRules.of(
        templates, chat -> prompt.render(chat, engine, () -> LocalDateTime.MIN), engine, () -> LocalDateTime.MIN);
  }

  private static MessagesRules rules(String template) {
    return rules(ChatTemplates.of(ChatTemplate.parse(template), Map.of()), VllmVersion.NEWEST);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    PLAIN,
    "{% if strftime_now is defined %}{{ strftime_now('%d') }}{% endif %}" + PLAIN,
    "{% if not messages %}{{ raise_exception('empty') }}{% endif %}" + PLAIN
  })
  void systemBetweenOthers_staysWhereTheTemplateTakesIt(String template) {
    assertThat(rules(template).mergesSystem()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('first') }}{% endif %}"
        + "{% endfor %}" + PLAIN,
    "{% for m in messages %}{{ 'x' if (m.role == 'user') == (loop.index0 % 2 == 0) else raise_exception('turns') }}"
        + "{% endfor %}",
    // The engine asks plain Jinja, which does not know the time, nor what marks answers for training.
    "{{ strftime_now('%d') }}" + PLAIN, "{% if false %}{% generation %}{% endgeneration %}{% endif %}" + PLAIN,
    "{{ messages[0].content.parts.text }}"
  })
  void systemBetweenOthers_isMergedWhereTheTemplateRefusesIt(String template) {
    assertThat(rules(template).mergesSystem()).isTrue();
  }

  @Test
  void templateForTools_isAsked_too() {
    Map<String, ChatTemplate> named =
        Map.of("default", ChatTemplate.parse(PLAIN), "tool_use", ChatTemplate.parse("{{ raise_exception('no') }}"));
    assertThat(rules(new ChatTemplates(named, Map.of()), VllmVersion.NEWEST).mergesSystem()).isTrue();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
    "{{ 'think' if enable_thinking else 'answer' }} | none",
    "{{ reasoning_effort }} | none",
    "no word of it | low",
    "{{ reasoning_effort if reasoning_effort in ['low', 'high'] else 'max' }} | low",
    "{{ raise_exception('unknown effort') if reasoning_effort == 'none' else reasoning_effort }} | low"
  })
  void thinkingSwitchedOff_isNoEffort_orALowOneWhereThatIsIgnored(String template, String effort) {
    assertThat(rules(template).disabledEffort()).isEqualTo(effort);
  }

  @Test
  void olderEngines_doNotReadIt() {
    ChatTemplates templates = ChatTemplates.of(ChatTemplate.parse("{{ enable_thinking }}"), Map.of());
    assertThat(rules(templates, new VllmVersion(0, 30)).disabledEffort()).isNull();
    assertThat(rules(templates, new VllmVersion(0, 31)).disabledEffort()).isEqualTo("none");
  }
}
