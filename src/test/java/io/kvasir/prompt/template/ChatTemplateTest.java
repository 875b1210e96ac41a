package io.kvasir.prompt.template;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
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

  static Stream<Arguments> language() throws IOException {
    List<JsonNode> vectors = Vectors.read("language.jsonl");
    return vectors.stream().map(v -> Arguments.of(v.get("template").asText(), v));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("language")
  void render_language_asJinja2(String source, JsonNode vector) {
    Map<String, Object> variables = Vectors.map(vector.get("variables"));
    if (vector.has("error")) {
      String error = vector.get("error").asText();
      TemplateException thrown = org.assertj.core.api.Assertions.catchThrowableOfType(TemplateException.class,
          () -> ChatTemplate.parse(source).render(variables, () -> Vectors.time(1720051200)));
      assertThat(thrown).as(error).isNotNull();
      assertThat(thrown instanceof TemplateException.Syntax).as(error + " / " + thrown.getMessage())
          .isEqualTo(vector.get("syntax").asBoolean());
    } else {
      assertThat(ChatTemplate.parse(source).render(variables, () -> Vectors.time(1720051200)))
          .isEqualTo(vector.get("expected").asText());
    }
  }
}
