package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.assertj.core.api.Assertions;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

final class ChatTemplateTest {
  static Stream<Arguments> corpus() throws IOException {
    return Vectors.read("corpus.jsonl").stream()
        .map(c -> Arguments.of(c.get("model").asText() + " " + c.get("case").asText(), c));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("corpus")
  void render_corpus_asTransformers(String name, JsonNode vector) {
    Map<String, Object> variables = new HashMap<>();
    variables.put("tools", null);
    variables.put("documents", null);
    variables.putAll(Vectors.map(vector.get("special_tokens")));
    variables.putAll(Vectors.map(vector.get("input")));
    ChatTemplate template = ChatTemplate.parse(vector.get("template").asText());
    long clock = vector.get("clock_unix_secs").asLong();
    assertThat(template.render(variables, () -> Vectors.time(clock))).isEqualTo(vector.get("expected").asText());
  }

  static Stream<Arguments> language() {
    return Stream.of("language.jsonl", "generated.jsonl").flatMap(ChatTemplateTest::read)
        .map(v -> Arguments.of(v.get("template").asText(), v));
  }

  private static Stream<JsonNode> read(String resource) {
    try {
      return Vectors.read(resource).stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("language")
  void render_language_asJinja2(String source, JsonNode vector) {
    Map<String, Object> variables = Vectors.map(vector.get("variables"));
    if (vector.has("error")) {
      String error = vector.get("error").asText();
      TemplateException thrown = Assertions.catchThrowableOfType(TemplateException.class,
          () -> ChatTemplate.parse(source).render(variables, () -> Vectors.time(1720051200)));
      assertThat(thrown).as(error).isNotNull();
      assertThat(thrown instanceof TemplateException.Syntax).as(error + " / " + thrown.getMessage())
          .isEqualTo(vector.get("syntax").asBoolean());
    } else {
      assertThat(ChatTemplate.parse(source).render(variables, () -> Vectors.time(1720051200)))
          .isEqualTo(vector.get("expected").asText());
    }
  }

  @Test
  void parse_syntaxError_namesTheLine() {
    Assertions.assertThatThrownBy(() -> ChatTemplate.parse("a\n{% if x %}\n{{ x + }}\n{% endif %}"))
        .isInstanceOf(TemplateException.Syntax.class)
        .hasMessage("expected an expression, got '}}' (line 3 of the chat template)");
  }

  @Test
  void parse_unknownFilter_isNamed() {
    Assertions.assertThatThrownBy(() -> ChatTemplate.parse("{{ x | shout }}"))
        .isInstanceOf(TemplateException.Syntax.class)
        .hasMessageContaining("there is no filter named 'shout' (line 1");
  }

  @Test
  void render_failure_namesTheInnermostLine() {
    ChatTemplate template = ChatTemplate.parse("{% for m in messages %}\n{{ m.content }}\n{{ m.a.b }}\n{% endfor %}");
    Assertions.assertThatThrownBy(() -> render(template, Map.of("messages", List.of(Map.of("content", "x")))))
        .isInstanceOf(TemplateException.Evaluation.class)
        .hasMessage("'dict object' has no attribute 'a' (line 3 of the chat template)");
  }

  @Test
  void render_raiseException_carriesTheMessage() {
    ChatTemplate template = ChatTemplate.parse("{{ raise_exception('Roles must alternate, not ' ~ role) }}");
    TemplateException.Raised raised = Assertions.catchThrowableOfType(TemplateException.Raised.class,
        () -> render(template, Map.of("role", "user")));
    assertThat(raised.reason()).isEqualTo("Roles must alternate, not user");
    assertThat(raised.line()).isEqualTo(1);
  }

  @Test
  void render_largeIntegersAndFloatsThatAreNoNumbers_compareAsInPython() {
    ChatTemplate template = ChatTemplate.parse("{% set inf = 1e308 * 10 %}{% set nan = (-1) ** 0.5 %}"
        + "{{ [big < inf, big > -inf, big == inf, inf > big, big < nan, nan < big, big == nan, big > 1.5] }}");
    assertThat(render(template, Map.of("big", BigInteger.TEN.pow(900))))
        .isEqualTo("[True, True, False, True, False, False, False, True]");
  }

  @Test
  void render_variables_areNotChanged() {
    Map<String, Object> variables = Map.of("messages", List.of(Map.of("role", "user")));
    ChatTemplate template = ChatTemplate.parse(
        "{% set messages = messages + [1] %}{% set n = namespace(m=messages) %}{% set n.m = [] %}"
            + "{{ messages|length }}");
    assertThat(render(template, variables)).isEqualTo("2");
    assertThat(variables.get("messages"))
        .asInstanceOf(InstanceOfAssertFactories.LIST).hasSize(1);
  }

  @Test
  void render_sameTemplateFromManyThreads_isTheSame() {
    ChatTemplate template = ChatTemplate.parse(
        "{% macro m(x) %}<{{ x }}>{% endmacro %}"
            + "{% for i in range(50) %}{{ m(i ~ who) }}{{ loop.cycle('a','b') }}{% endfor %}");
    List<String> alone = Stream.of("p", "q", "r").map(who -> render(template, Map.of("who", who))).toList();
    List<String> together = IntStream.range(0, 300).parallel()
        .mapToObj(i -> render(template, Map.of("who", List.of("p", "q", "r").get(i % 3)))).toList();
    for (int i = 0; i < together.size(); i++) {
      assertThat(together.get(i)).isEqualTo(alone.get(i % 3));
    }
  }

  private static String render(ChatTemplate template, Map<String, ?> variables) {
    return template.render(variables, () -> Vectors.time(0));
  }
}
