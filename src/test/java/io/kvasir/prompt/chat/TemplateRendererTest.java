package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.Bodies;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.template.Vectors;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class TemplateRendererTest {
  private static final String DUMP = "{% for m in messages %}{{ m|tojson }}\n{% endfor %}";
  /** Loops over a message's content, so it gets parts. */
  private static final String PARTS = "{% for m in messages %}{{ m|tojson }}{% for p in m.content %}{% endfor %}"
      + "{{ '\\n' }}{% endfor %}";

  private static TemplateRenderer prompt(String template) {
    return prompt(ChatTemplates.of(ChatTemplate.parse(template), Map.of("eos_token", "</s>")));
  }

  private static TemplateRenderer prompt(ChatTemplates templates) {
    return new TemplateRenderer(templates, Map.of(), NanoClock.SYSTEM);
  }

  private static String render(String template, String body) throws IOException {
    return render(prompt(template), body);
  }

  private static String render(TemplateRenderer prompt, String body) throws IOException {
    return prompt.render(Vectors.MAPPER.readTree(body), VllmVersion.NEWEST, () -> Vectors.time(0)).toString();
  }

  @Test
  void render_corpus_asTransformers() throws IOException {
    for (JsonNode vector : Vectors.read("corpus.jsonl")) {
      Map<String, String> tokens = new HashMap<>();
      vector.get("special_tokens").properties().forEach(t -> tokens.put(t.getKey(), t.getValue().asText()));
      TemplateRenderer prompt =
          new TemplateRenderer(
              ChatTemplates.of(ChatTemplate.parse(vector.get("template").asText()), tokens), Map.of(),
              NanoClock.SYSTEM);
      long clock = vector.get("clock_unix_secs").asLong();
      assertThat(prompt.render(vector.get("input"), VllmVersion.NEWEST, () -> Vectors.time(clock)).toString())
          .as(vector.get("model").asText() + " " + vector.get("case").asText())
          .isEqualTo(vector.get("expected").asText());
    }
  }

  @Test
  void render_toolCalls_getObjectsForArguments() throws IOException {
    String body = """
        {"messages": [{"role": "assistant", "content": null, "reasoning_content": "why", "audio": null, "tool_calls": [
          {"type": "function", "index": 0, "id": "a", "function": {"name": "f", "arguments": "{\\"x\\": 1.0}"}},
          {"type": "function", "id": "b", "function": {"name": "g", "arguments": ""}},
          {"type": "function", "id": "c", "function": {"name": "h", "arguments": "{broken"}},
          {"type": "function", "id": "d", "function": {"name": "i", "arguments": "[1]"}}]},
         {"role": "tool", "tool_call_id": "a",
          "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]}]}
        """;
    assertThat(render(DUMP, body)).isEqualTo("""
        {"role": "assistant", "content": "", "tool_calls": [\
        {"id": "a", "function": {"arguments": {"x": 1.0}, "name": "f"}, "type": "function", "index": 0}, \
        {"id": "b", "function": {"arguments": {}, "name": "g"}, "type": "function"}, \
        {"id": "c", "function": {"arguments": {}, "name": "h"}, "type": "function"}, \
        {"id": "d", "function": {"arguments": {}, "name": "i"}, "type": "function"}], \
        "reasoning": "why", "reasoning_content": "why"}
        {"role": "tool", "content": "1\\n2", "tool_call_id": "a"}
        """);
  }

  /** As Python's json.loads: nothing may follow a value, and numbers may be none. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
      {'a': 1}{'b': 2}                         | {}
      {'a': 1}}                                | {}
      {'a': NaN, 'b': -Infinity, 'c': Infinity} | {'a': NaN, 'b': -Infinity, 'c': Infinity}
      """)
  void render_argumentsOfCalls_areReadAsByPython(String arguments, String read) throws IOException {
    ObjectNode body =
        Bodies.object("{'messages': [{'role': 'assistant', 'tool_calls': [{'function': {'name': 'f'}}]}]}");
    ((ObjectNode) body.at("/messages/0/tool_calls/0/function")).put("arguments", arguments.replace('\'', '"'));
    String template = "{{ messages[0].tool_calls[0].function.arguments|tojson }}";
    assertThat(render(template, body.toString())).isEqualTo(read.replace('\'', '"'));
  }

  /** vLLM's without tools; other engines take the tokenizer's. */
  @Test
  void render_modelWithAProcessorsTemplate_isByTheOneThatTheEngineSelects() throws IOException {
    TemplateRenderer prompt = prompt(
        new ChatTemplates(
            Map.of("default", ChatTemplate.parse("tokenizer")), ChatTemplate.parse("processor"), Map.of()));
    JsonNode plain = Bodies.json("{'messages': [{'role': 'user', 'content': '?'}]}");
    JsonNode tools = Bodies.json("""
        {'messages': [{'role': 'user', 'content': '?'}],
         'tools': [{'type': 'function', 'function': {'name': 'f'}}]}""");
    assertThat(prompt.render(plain, VllmVersion.NEWEST, () -> Vectors.time(0))).hasToString("processor");
    assertThat(prompt.render(tools, VllmVersion.NEWEST, () -> Vectors.time(0))).hasToString("tokenizer");
    assertThat(prompt.render(plain, SglangVersion.of(null, null), () -> Vectors.time(0))).hasToString("tokenizer");
    assertThat(prompt.render(plain, TensorRtVersion.of(null), () -> Vectors.time(0))).hasToString("tokenizer");
  }

  @Test
  void render_emptyToolCalls_areLeftOut() throws IOException {
    assertThat(render(DUMP, "{\"messages\": [{\"role\": \"assistant\", \"content\": \"x\", \"tool_calls\": []}]}"))
        .isEqualTo("{\"role\": \"assistant\", \"content\": \"x\"}\n");
  }

  @Test
  void render_stringFormat_joinsParts() throws IOException {
    assertThat(render(DUMP, """
        {"messages": [{"role": "user", "name": "bob", "content": [{"type": "text", "text": "a"}, "b",
          {"type": "text", "text": ""}, {"type": "image_url", "image_url": {"url": "x"}},
          {"type": "refusal", "refusal": "c"}]}]}
        """)).isEqualTo("{\"role\": \"user\", \"content\": \"a\\nb\\nc\", \"name\": \"bob\"}\n");
  }

  @Test
  void render_openaiFormat_givesParts() throws IOException {
    assertThat(render(PARTS, """
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
          {"type": "image_url", "image_url": {"url": "x"}}, {"type": "input_audio", "input_audio": {}}]},
         {"role": "user", "content": "plain"}, {"role": "assistant"},
         {"role": "tool", "tool_call_id": "t", "content": "42"}]}
        """)).isEqualTo("""
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "audio"}]}
        {"role": "user", "content": [{"type": "text", "text": "plain"}]}
        {"role": "assistant", "content": []}
        {"role": "tool", "content": "42", "tool_call_id": "t"}
        """);
  }

  @Test
  void render_systemBillingHeader_isLeftOut() throws IOException {
    String body = """
        {"messages": [{"role": "system", "content": "x-anthropic-billing-header: cch=1\\nBe nice"}]}
        """;
    assertThat(render(DUMP, body)).isEqualTo("{\"role\": \"system\", \"content\": \"Be nice\"}\n");
    assertThat(render(PARTS, body))
        .isEqualTo("{\"role\": \"system\", \"content\": [{\"type\": \"text\", \"text\": \"Be nice\"}]}\n");
  }

  @Test
  void render_tools_haveTheServersFields() throws IOException {
    assertThat(render("{{ tools|tojson }}", """
        {"messages": [{"role": "user", "content": "x"}], "tools": [
          {"function": {"strict": true, "parameters": {"z": 1, "a": 2}, "name": "n"}, "type": "function", "extra": 1}]}
        """)).isEqualTo("[{\"type\": \"function\", \"function\": {\"name\": \"n\", \"description\": null, "
        + "\"parameters\": {\"z\": 1, \"a\": 2}, \"strict\": true}}]");
  }

  @Test
  void render_variables_requestBeforeKwargsBeforeDefaults() throws IOException {
    TemplateRenderer prompt = new TemplateRenderer(ChatTemplates.of(ChatTemplate.parse(
        "{{ a }} {{ b }} {{ add_generation_prompt }} {{ reasoning_effort }} {{ enable_thinking }} {{ eos_token }} "
        + "{{ tools }} {{ documents }}"), Map.of("eos_token", "</s>")),
        Map.of("a", "default", "b", "default", "reasoning_effort", "low"), NanoClock.SYSTEM);
    assertThat(render(prompt, "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}"))
        .isEqualTo("default default True low  </s> None None");
    assertThat(render(prompt, """
        {"messages": [{"role": "user", "content": "x"}], "reasoning_effort": "high", "add_generation_prompt": false,
         "documents": [{"title": "t"}], "tools": [],
         "chat_template_kwargs": {"a": "kwarg", "reasoning_effort": "medium", "eos_token": "<e>"}}
        """)).isEqualTo("kwarg default False high True <e> [] [{'title': 't'}]");
  }

  @Test
  void render_namedTemplates_chosenAsTransformersDoes() throws IOException {
    ChatTemplates templates = new ChatTemplates(Map.of("default", ChatTemplate.parse("plain"),
        "tool_use", ChatTemplate.parse("tools"), "rag", ChatTemplate.parse("rag")), Map.of());
    TemplateRenderer prompt = prompt(templates);
    String messages = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]";
    assertThat(render(prompt, messages + "}")).isEqualTo("plain");
    assertThat(render(prompt, messages + ", \"tools\": [{\"function\": {\"name\": \"f\"}}]}")).isEqualTo("tools");
    assertThat(render(prompt, messages + ", \"chat_template\": \"rag\"}")).isEqualTo("rag");
    assertThat(render(prompt, messages + ", \"chat_template\": \"own {{ messages[0].content }}\"}")).isEqualTo("own x");
    TemplateRenderer without = prompt(new ChatTemplates(Map.of("rag", ChatTemplate.parse("rag")), Map.of()));
    assertThatThrownBy(() -> render(without, messages + "}"))
        .isInstanceOf(TemplateException.Request.class).hasMessageContaining("[rag]");
  }

  @Test
  void render_continueFinalMessage_leavesItOpen() throws IOException {
    String exact = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}";
    String trimming = "{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}</{{ m.role }}>{% endfor %}";
    String body = """
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "It is "}],
         "continue_final_message": true, "add_generation_prompt": false}
        """;
    assertThat(render(exact, body)).isEqualTo("<user>q</user><assistant>It is ");
    assertThat(render(trimming, body)).isEqualTo("<user>q</user><assistant>It is");
    assertThat(render("{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}", body))
        .isEqualTo("[q][It is ");
    assertThatThrownBy(() -> render("{{ messages[0].content }}", body))
        .isInstanceOf(TemplateException.Request.class).hasMessageContaining("does not print the final message");
    assertThatThrownBy(() -> render(exact, body.replace("false", "true")))
        .isInstanceOf(TemplateException.Request.class).hasMessageContaining("set add_generation_prompt to false");
  }

  /** Compared with each place in the prompt, a final message like this would take 10^12 comparisons. */
  @Test
  void render_continueFinalMessageOfMuchTheSameText_isLinear() throws IOException {
    String body = """
        {"messages": [{"role": "user", "content": "%s"}, {"role": "assistant", "content": "%s"}],
         "continue_final_message": true, "add_generation_prompt": false}
        """.formatted("a".repeat(2_000_000), "a".repeat(1_000_000) + "b");
    assertThat(render("{% for m in messages %}{{ m.content }}{% endfor %}", body)).hasSize(3_000_001);
  }

  /** What stopped a node when templates of requests were not limited. */
  @ParameterizedTest
  @ValueSource(strings = {
    "{{ ('<'*60000)|striptags }}{{ ('<'*20000000)|striptags }}",
    "{{ (' a'*30000000).split()|length }}",
    "{{ 'a'*60000000 }}",
    "{{ ('a'*2000000).find('a'*1000000 ~ 'b') }}{{ ('a'*9000000) }}",
    "{% for i in range(100000) %}{% set x = ('\u00e9'*100000)|length %}{% endfor %}",
    "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "{% set n = namespace(t='ab') %}{% for i in range(99) %}{% set n.t = n.t.replace('a', n.t) %}{% endfor %}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% if %}", "{{ x|a.a.a.a }}"
  })
  void render_ownTemplateBeyondItsLimits_isTheRequestsFault(String source) throws IOException {
    JsonNode body = Vectors.MAPPER.createObjectNode().put("chat_template", source)
        .set("messages", Vectors.MAPPER.readTree("[{\"role\": \"user\", \"content\": \"x\"}]"));
    assertThatThrownBy(() -> prompt("model's own").render(body, VllmVersion.NEWEST, () -> Vectors.time(0)))
        .isInstanceOf(TemplateException.RefusedTemplate.class).hasMessageStartingWith("chat_template: ");
  }

  @Test
  void render_ownTemplateOfParenthesesAndSlices_isTheRequestsFault() throws IOException {
    String nested = "messages";
    for (int i = 0; i < 45; i++) {
      nested = "(" + nested + "[:]".repeat(200) + ")";
    }
    render_ownTemplateBeyondItsLimits_isTheRequestsFault("{% set x = " + nested + " %}");
  }

  @Test
  void render_body_isNotChanged() throws IOException {
    ObjectNode body = (ObjectNode) Vectors.MAPPER.readTree("""
        {"messages": [{"role": "assistant", "content": "x", "tool_calls": [
          {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}],
         "continue_final_message": true, "add_generation_prompt": false}
        """);
    JsonNode before = body.deepCopy();
    prompt("{{ messages[0].content }}").render(body, VllmVersion.NEWEST, () -> Vectors.time(0));
    assertThat(body).isEqualTo(before);
  }

  @Test
  void render_badBodies_nameTheField() {
    for (String[] faulty : new String[][] {
        {"{}", "messages must be a list"},
        {"{\"messages\": []}", "at least one message"},
        {"{\"messages\": \"x\"}", "messages must be a list"},
        {"{\"messages\": [1]}", "each with a role"},
        {"{\"messages\": [{\"content\": \"x\"}]}", "each with a role"},
        {"{\"messages\": [{\"role\": \"user\", \"content\": 5}]}", "content of a message"},
        {"{\"messages\": [{\"role\": \"user\", \"content\": [{\"x\": 1}]}]}", "has no type"},
        {"{\"messages\": [{\"role\": \"user\"}], \"tools\": {}}", "tools must be a list"},
        {"{\"messages\": [{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"x\"}]}]}", "tool_calls"}}) {
      assertThatThrownBy(() -> render(DUMP, faulty[0]))
          .isInstanceOf(TemplateException.Request.class).hasMessageContaining(faulty[1]);
    }
  }

  static Stream<Arguments> prepared() throws IOException {
    return Vectors.read("prepared.jsonl").stream()
        .map(vector -> Arguments.of(vector.get("version").asText() + " " + vector.get("body"), vector));
  }

  /** Random requests, as vLLM's own code prepares them in each of some versions. */
  @ParameterizedTest(name = "{0}")
  @MethodSource("prepared")
  void render_ofAVersion_asItPrepares(String name, JsonNode vector) {
    TemplateRenderer prompt = prompt(vector.get("template").asText());
    VllmVersion version = VllmVersion.of(vector.get("version").asText());
    if (vector.has("error")) {
      assertThatThrownBy(() -> prompt.render(vector.get("body"), version, () -> Vectors.time(0)))
          .as(vector.get("error").asText()).isInstanceOf(TemplateException.Request.class);
    } else {
      assertThat(prompt.render(vector.get("body"), version, () -> Vectors.time(0)))
          .hasToString(vector.get("expected").asText());
    }
  }

  @Test
  void version_unreadable_isTheNewest() {
    assertThat(VllmVersion.of("0.32.0")).isEqualTo(new VllmVersion(0, 32)).hasToString("vLLM 0.32")
        .isGreaterThan(VllmVersion.of("v0.9.2.post1"));
    assertThat(VllmVersion.of("1.0")).isGreaterThan(VllmVersion.of("0.32.0")).isLessThan(VllmVersion.NEWEST);
    for (String unknown : new String[] {null, "", "dev", "0", "0.1.dev8123+g1a2b3c", "9999999.0"}) {
      assertThat(VllmVersion.of(unknown)).as(unknown).isEqualTo(VllmVersion.NEWEST);
    }
  }
}
