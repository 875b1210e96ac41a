package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.Vectors;
import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ContentFormatTest {
  private static final VllmVersion LAST_WITHOUT_NAMESPACES = VllmVersion.of("0.32.0");

  private static ContentFormat format(String template, VllmVersion version) {
    return ContentFormat.of(ChatTemplate.parse(template), version);
  }

  @Test
  void contentFormat_asVllmDetectsIt() {
    Map<String, ContentFormat> expected = new HashMap<>();
    expected.put("{{ messages[0].content }}", ContentFormat.STRING);
    expected.put("{% for m in messages %}{{ m['content'] }}{% endfor %}", ContentFormat.STRING);
    expected.put("{% for m in messages %}{% for c in m['content'] %}{% endfor %}{% endfor %}", ContentFormat.OPENAI);
    expected.put("{% for m in messages %}{% for c in m.content | selectattr('type') %}{% endfor %}{% endfor %}",
        ContentFormat.OPENAI);
    expected.put("{% set l = messages[1:] %}{% for m in l %}{% for c in m.content %}{% endfor %}{% endfor %}",
        ContentFormat.OPENAI);
    expected.put("{% for m in messages %}{% set c = m.content %}{% for p in c %}{% endfor %}{% endfor %}",
        ContentFormat.STRING);
    expected.put("{% for m in messages %}{% for c in m.tool_calls %}{% endfor %}{% endfor %}", ContentFormat.STRING);
    expected.put("{% macro r(c) %}{% for p in c %}{% endfor %}{% endmacro %}{% for m in messages %}{{ r(m.content) }}"
        + "{% endfor %}", ContentFormat.OPENAI);
    expected.put("{% macro r(c) %}{% for p in c %}{% endfor %}{% endmacro %}{% for m in messages %}{{ r(m.role) }}"
        + "{% endfor %}", ContentFormat.STRING);
    expected.put("{% for content in messages %}{% set content = content.content %}{% for p in content %}{% endfor %}"
        + "{% endfor %}", ContentFormat.OPENAI);
    expected.put("{% for x in tools %}{% for c in x.content %}{% endfor %}{% endfor %}", ContentFormat.STRING);
    expected.forEach((template, format) ->
        assertThat(format(template, VllmVersion.NEWEST)).as(template).isEqualTo(format));
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "{% set ns = namespace(rest=messages) %}{% for m in ns.rest %}{% for c in m.content %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(first=none) %}{% set ns.rest = messages[1:] %}{% for m in ns.rest %}{% for c in m.content %}"
        + "{% endfor %}{% endfor %}",
    "{% set ns = namespace(rest=messages) %}{% set rest = ns.rest[1:] %}{% for m in rest %}{% for c in m['content'] %}"
        + "{% endfor %}{% endfor %}",
    "{% set ns = namespace(all=messages) %}{% set ns.rest = ns.all|list %}{% for m in ns.rest %}"
        + "{% for c in m.content %}{% endfor %}{% endfor %}"})
  void contentFormat_messagesInNamespace_areFollowedSince33(String template) {
    assertThat(format(template, LAST_WITHOUT_NAMESPACES)).isEqualTo(ContentFormat.STRING);
    assertThat(format(template, VllmVersion.of("0.33.0"))).isEqualTo(ContentFormat.OPENAI);
  }

  @ParameterizedTest
  @ValueSource(strings = {
    "{% set ns = namespace(rest=messages) %}{% for m in ns['rest'] %}{% for c in m.content %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(rest=messages) %}{% for m in ns.other %}{% for c in m.content %}{% endfor %}{% endfor %}",
    "{% set ns = dict(rest=messages) %}{% for m in ns.rest %}{% for c in m.content %}{% endfor %}{% endfor %}",
    "{% set ns = namespace(rest=messages[0]) %}{% for m in ns.rest %}{% for c in m.content %}{% endfor %}{% endfor %}"})
  void contentFormat_otherMembers_areNotTheMessages(String template) {
    assertThat(format(template, VllmVersion.NEWEST)).isEqualTo(ContentFormat.STRING);
  }

  @Test
  void contentFormat_whatDetectionStopsAt_isText() {
    String parts = "{% for m in messages %}{% for c in m.content %}{% endfor %}{% endfor %}";
    String member = "{% set ns.rest = messages %}" + parts;
    assertThat(format(member, LAST_WITHOUT_NAMESPACES)).isEqualTo(ContentFormat.STRING);
    assertThat(format(member, VllmVersion.NEWEST)).isEqualTo(ContentFormat.OPENAI);
    for (String template : new String[] {
        "{% for role, group in messages|groupby('role') %}{% endfor %}" + parts,
        "{% for m in messages %}{% for a, b in m.content %}{% endfor %}{% endfor %}" + parts}) {
      assertThat(format(template, VllmVersion.NEWEST)).as(template).isEqualTo(ContentFormat.STRING);
    }
  }

  static Stream<Arguments> detected() throws IOException {
    return Vectors.read("detected.jsonl").stream()
        .map(vector -> Arguments.of(vector.get("version").asText() + " " + vector.get("template").asText(), vector));
  }

  /** Random templates, as vLLM's own code detects their format in each of some versions. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("detected")
  void contentFormat_ofAVersion_asItDetects(String name, JsonNode vector) {
    assertThat(format(vector.get("template").asText(), VllmVersion.of(vector.get("version").asText())))
        .isEqualTo(ContentFormat.valueOf(vector.get("format").asText().toUpperCase(Locale.ROOT)));
  }
}
